// Command leaky is a read/write lock behind the lock protocol with one deliberate bug: a client that downgrades has no
// znode as a reader, so the next writer is granted the lock beside it. Everything else comes from package recipes.
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"locklab/recipes"
	"locklab/recipes/zksession"
)

// command is the lock of one client.
type command struct {
	mu      sync.Mutex
	session *recipes.Session
	lock    *recipes.RW
	holds   map[string]*recipes.Hold
}

func say(format string, args ...any) {
	os.Stdout.WriteString(fmt.Sprintf(format, args...) + "\n") // one write per line
}

func main() {
	c := &command{holds: map[string]*recipes.Hold{}}
	say("locklab-lock 1 per-client")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		w := strings.Fields(in.Text())
		switch w[0] {
		case "open":
			c.open(w[1], strings.Split(w[2], ","), w[3], w[4])
		case "acquire":
			go c.acquire(w[1], w[4], w[5])
		case "downgrade":
			h, _ := recipes.NewNoLock(c.session.ID()).Acquire(context.Background())
			c.granted(w[1], h)
		case "release":
			go c.release(w[1])
		case "close":
			_ = c.session.Close(context.Background())
			say("closed %s", w[1])
		case "end":
			return
		}
	}
}

func (c *command) open(id string, servers []string, timeout, path string) {
	ms, err := strconv.Atoi(timeout)
	if err == nil {
		cfg := zksession.Config{Servers: servers, Timeout: time.Duration(ms) * time.Millisecond}
		c.session, err = recipes.Connect(context.Background(), recipes.SessionConfig{Config: cfg})
	}
	if err == nil {
		c.lock, err = recipes.NewRW(recipes.RWConfig{Session: c.session, Path: path})
	}
	if err != nil {
		say("failed %s %v", id, err)
		return
	}
	say("opened %s %d", id, c.session.ID())
}

func (c *command) acquire(id, mode, wait string) {
	ctx := context.Background()
	if ms, err := strconv.Atoi(wait); err == nil {
		limited, cancel := context.WithTimeout(ctx, time.Duration(ms)*time.Millisecond)
		defer cancel()
		ctx = limited
	}
	l := c.lock.Write()
	if mode == "read" {
		l = c.lock.Read()
	}
	h, err := l.Acquire(ctx)
	switch {
	case ctx.Err() != nil && err != nil:
		say("timeout %s", id)
	case err != nil:
		say("failed %s %v", id, err)
	default:
		c.granted(id, h)
	}
}

func (c *command) granted(id string, h *recipes.Hold) {
	c.mu.Lock()
	c.holds[id] = h
	c.mu.Unlock()
	if h.Token() == 0 {
		say("granted %s", id)
		return
	}
	say("granted %s %d", id, h.Token())
}

func (c *command) release(id string) {
	c.mu.Lock()
	h := c.holds[id]
	delete(c.holds, id)
	c.mu.Unlock()
	if err := h.Release(context.Background()); err != nil {
		say("failed %s %v", id, err)
		return
	}
	say("released %s", id)
}
