// Command broken-lock is ten locks with one bug each, and a sound one, behind the lock protocol of locklab, which
// package foreign specifies. It uses nothing else of locklab. The checks of a run must catch the ten, although a run
// knows no more of them than of anybody's lock: its sessions, its tokens, and the layout of its znodes only if it is
// told.
//
//	broken-lock NAME [GREETING…]
//
// NAME is that of one of the [ways]. The other words end its greeting: layout=queue, for instance, or pings.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

func main() {
	if err := serve(os.Stdin, os.Stdout, os.Args[1:]); err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
}

// A driver answers the requests of one client, which has one session at a time.
type driver struct {
	way
	out      io.Writer
	mu       sync.Mutex // of out
	attempts map[string]*attempt
	session  *session
}

func (d *driver) say(words ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	fmt.Fprintln(d.out, words...)
}

// serve answers requests until the input ends. Whatever takes time has a goroutine of its own.
func serve(input io.Reader, output io.Writer, args []string) error {
	if len(args) == 0 || ways[args[0]].acquire == nil {
		return fmt.Errorf("%q does not begin with the name of one of the locks", args)
	}
	d := &driver{way: ways[args[0]], out: output, attempts: map[string]*attempt{}}
	d.say(strings.Join(append([]string{"locklab-lock 1 per-client"}, args[1:]...), " "))
	in := bufio.NewScanner(input)
	for in.Scan() {
		if words := strings.Fields(in.Text()); !d.carryOut(words) {
			return fmt.Errorf("request %q is not understood", in.Text())
		} else if words[0] == "end" {
			return nil
		}
	}
	return in.Err()
}

// carryOut begins what a request asks for, and reports whether it understands the request.
func (d *driver) carryOut(words []string) bool {
	switch verb, n := words[0], len(words); {
	case verb == "open" && n == 5:
		d.open(words[1], strings.Split(words[2], ","), words[3], strings.Split(words[4], ","))
	case verb == "acquire" && n == 6:
		a := &attempt{session: d.session, id: words[1], path: words[3]}
		d.attempts[a.id] = a
		ctx := d.session.ctx
		if ms, err := strconv.Atoi(words[5]); err == nil {
			ctx, a.cancel = context.WithTimeout(ctx, time.Duration(ms)*time.Millisecond)
		} else {
			ctx, a.cancel = context.WithCancel(ctx)
		}
		if words[4] != "exclusive" || words[5] == "0" {
			d.say("failed", a.id, "this lock is exclusive, and can only wait")
			return true
		}
		go a.run(ctx)
	case verb == "cancel" && n == 2:
		if a := d.attempts[words[1]]; a != nil {
			a.cancel()
		}
	case verb == "release" && n == 2:
		if a := d.attempts[words[1]]; a != nil {
			go a.end()
		}
		delete(d.attempts, words[1])
	case verb == "close" && n == 2:
		d.session.close()
		d.say("closed", words[1])
	case verb == "ping":
		d.say("pong")
	case verb != "end":
		return false
	}
	return true
}

// A session is a connection, which lasts as long as its first ZooKeeper session, or longer if the lock forgets to tell.
type session struct {
	*driver
	id      string // of the open
	conn    *zk.Conn
	timeout time.Duration
	ctx     context.Context // until the session is over
	end     context.CancelFunc

	mu     sync.Mutex
	opened bool
	cut    chan struct{} // closed when the connection is lost
	listed listing       // what the client remembers of the queue
}

func (d *driver) open(id string, servers []string, timeoutMS string, locks []string) {
	ms, err := strconv.Atoi(timeoutMS)
	if err != nil {
		d.say("failed", id, err)
		return
	}
	s := &session{driver: d, id: id, timeout: time.Duration(ms) * time.Millisecond, cut: make(chan struct{})}
	s.ctx, s.end = context.WithCancel(context.Background())
	d.session = s
	s.mu.Lock() // until s.conn is set
	defer s.mu.Unlock()
	s.conn, _, err = zk.Connect(servers, s.timeout, zk.WithEventCallback(func(e zk.Event) { s.changed(e, locks) }),
		zk.WithLogInfo(false))
	if err != nil {
		d.say("failed", id, err)
	}
}

// changed reports what becomes of the session. The connection waits for it.
func (s *session) changed(e zk.Event, locks []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case e.Type != zk.EventSession || s.ctx.Err() != nil:
	case e.State == zk.StateHasSession && !s.opened:
		s.opened = true
		go func() { // an answer is read once the connection has gone on
			if credential := os.Getenv("LOCKLAB_CREDENTIAL"); credential != "" {
				_ = s.conn.AddAuth("digest", []byte(credential))
			}
			for _, lock := range locks {
				if !s.directory {
					lock = path.Dir(lock)
				}
				if err := s.makeDir(lock); err != nil {
					s.say("failed", s.id, err)
					return
				}
			}
			s.say("opened", s.id, fmt.Sprintf("%#x", uint64(s.conn.SessionID())), "-", e.Server)
		}()
	case e.State == zk.StateHasSession:
		s.say("connected", s.id, e.Server)
	case e.State == zk.StateDisconnected && s.opened:
		s.say("disconnected", s.id)
		close(s.cut)
		s.cut = make(chan struct{})
	case e.State == zk.StateExpired && !s.neverTells:
		s.say("expired", s.id)
		s.end()
		go s.conn.Close()
	}
}

func (s *session) close() {
	if s.ctx.Err() == nil {
		s.end()
		s.conn.Close()
	}
}

// disconnection returns a channel that is closed when the connection is lost next.
func (s *session) disconnection() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cut
}

// acl returns who may use the lock's znodes.
func acl() []zk.ACL {
	if os.Getenv("LOCKLAB_CREDENTIAL") == "" {
		return zk.WorldACL(zk.PermAll)
	}
	return zk.AuthACL(zk.PermAll)
}

func (s *session) makeDir(name string) error {
	if name == "/" {
		return nil
	}
	_, err := s.conn.Create(name, nil, 0, acl())
	if errors.Is(err, zk.ErrNoNode) {
		if err = s.makeDir(path.Dir(name)); err == nil {
			_, err = s.conn.Create(name, nil, 0, acl())
		}
	}
	if errors.Is(err, zk.ErrNodeExists) {
		return nil
	}
	return err
}

// persist repeats a request until it is answered, or the session is over.
func (s *session) persist(request func() error) error {
	for {
		err := request()
		if !slices.ContainsFunc([]error{zk.ErrConnectionClosed, zk.ErrNoServer, zk.ErrSessionExpired}, func(e error) bool {
			return errors.Is(err, e)
		}) {
			return err
		}
		select {
		case <-s.ctx.Done():
			return err
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// An attempt is an acquire, and the hold that it may become.
type attempt struct {
	*session
	id, path string
	cancel   context.CancelFunc

	mu      sync.Mutex
	held    bool
	own     string // the path of its znode, if it is in a queue
	version int32  // of its data in the lock's one znode
	token   int64
}

func (a *attempt) run(ctx context.Context) {
	switch err := a.acquire(ctx, a); {
	case err == nil:
		a.mu.Lock()
		a.held = true
		a.mu.Unlock()
		a.answer("granted", a.token)
		if a.keepUp != nil {
			go a.keepUp(a)
		}
		return
	case ctx.Err() != nil:
		a.answer("timeout")
	default:
		a.answer("failed", err)
	}
	_ = a.release(a) // whatever it has left
}

// answer gives the acquire, or its release, its answer.
func (a *attempt) answer(verb string, text ...any) {
	if a.ctx.Err() == nil {
		a.say(append([]any{verb, a.id}, text...)...)
	}
}

// over reports whether this call has ended the hold. It was lost or released before if not.
func (a *attempt) over() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	held := a.held
	a.held = false
	return held
}

func (a *attempt) end() {
	defer a.cancel()
	if !a.over() {
		return
	}
	switch err := a.release(a); {
	case err == nil:
		a.answer("released")
	case errors.Is(err, zk.ErrNoNode), errors.Is(err, zk.ErrBadVersion):
		a.answer("lost", err)
	default:
		a.answer("failed", err)
	}
}
