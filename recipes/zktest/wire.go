package zktest

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"locklab/recipes/zktest/sim"
)

// A wire is a connection of a client with a server of an ensemble: a [net.Conn] for the client's goroutines, and the
// server's end of it, which the kernel works.
type wire struct {
	e        *Ensemble
	client   *sim.Host
	p        *peer
	up, down *lane // to the server and back
	outlet   *sim.Outlet

	mu       sync.Mutex
	changed  sync.Cond
	in, out  []byte
	closed   bool // by the client
	failure  error
	deadline time.Time
	alarm    *sim.Timer

	// These belong to the server's end.
	open    bool
	said    bool // that the client has closed it
	cut     bool // nothing that is on its way arrives any more
	frames  int  // after which it breaks; 0 = it does not
	greeted bool
	rest    []byte // of a frame that has not come whole
	link    *link
	entries []*entry
	answers [][]byte // for the client, which are still to be sent
}

// An entry is a request that is not answered yet.
type entry struct {
	xid   int32
	r     request
	write bool
	done  bool
	reply reply
}

// Dial connects a client on a host to a server by its address, as the Dial function of [zksession.Config].
func (e *Ensemble) Dial(client *sim.Host) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, _, address string) (net.Conn, error) {
		i := slices.IndexFunc(e.peers, func(p *peer) bool { return p.m.address == address })
		if i < 0 {
			return nil, fmt.Errorf("dial %s: no such server", address)
		}
		c := &wire{e: e, client: client, p: e.peers[i]}
		c.changed.L = &c.mu
		c.up = &lane{e: e, from: client, to: c.p.host}
		c.down = &lane{e: e, from: c.p.host, to: client}
		answer := make(chan error, 1)
		dialled := client.Outlet(func() { c.call(answer) })
		dialled.Filled()
		select {
		case err := <-answer:
			if err != nil {
				return nil, fmt.Errorf("dial %s: %w", address, err)
			}
			c.outlet = client.Outlet(c.collect)
			return c, nil
		case <-ctx.Done():
			return nil, fmt.Errorf("dial %s: %w", address, ctx.Err())
		}
	}
}

// call asks a server's machine for a connection. It answers even while the server is paused, if its process runs.
func (c *wire) call(answer chan<- error) {
	machine := lane{e: c.e, from: c.client, to: c.p.host, awake: true}
	machine.send(func() {
		if c.p.role == down {
			c.down.send(func() { answer <- syscall.ECONNREFUSED })
			return
		}
		c.open = true
		c.p.wires = append(c.p.wires, c)
		c.down.send(func() { answer <- nil })
	})
}

// Write and the methods below implement [net.Conn].
func (c *wire) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return 0, net.ErrClosed
	}
	if c.failure != nil {
		return 0, syscall.EPIPE
	}
	c.out = append(c.out, b...)
	c.outlet.Filled()
	return len(b), nil
}

func (c *wire) Read(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		switch {
		case c.closed:
			return 0, net.ErrClosed
		case len(c.in) > 0:
			n := copy(b, c.in)
			c.in = c.in[n:]
			return n, nil
		case c.failure != nil:
			return 0, c.failure
		case !c.deadline.IsZero() && !time.Now().Before(c.deadline):
			return 0, os.ErrDeadlineExceeded
		}
		c.changed.Wait()
	}
}

func (c *wire) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.closed = true
		c.changed.Broadcast()
		if c.alarm != nil {
			c.alarm.Stop()
		}
		c.outlet.Filled()
	}
	return nil
}

// SetReadDeadline implements [net.Conn]. The client sets it again and again, so that the timer runs on.
func (c *wire) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deadline = t
	if !t.IsZero() && c.alarm == nil {
		c.alarm = c.client.AfterFunc(time.Until(t), c.late)
	} else if !t.IsZero() && !time.Now().Before(t) {
		c.changed.Broadcast()
	}
	return nil
}

// late wakes the reader if its deadline has passed, and otherwise waits for it.
func (c *wire) late() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.alarm = nil
	if c.deadline.IsZero() || c.closed {
		return
	}
	if left := time.Until(c.deadline); left > 0 {
		c.alarm = c.client.AfterFunc(left, c.late)
		return
	}
	c.changed.Broadcast()
}

func (c *wire) SetDeadline(t time.Time) error { return c.SetReadDeadline(t) }

// SetWriteDeadline implements [net.Conn]: a write never waits.
func (c *wire) SetWriteDeadline(time.Time) error { return nil }

func (c *wire) LocalAddr() net.Addr { return &net.TCPAddr{} }

func (c *wire) RemoteAddr() net.Addr { return &net.TCPAddr{} }

// collect sends what the client has written, as one burst, and the end if it has closed the connection. go-zookeeper
// sets its watches again from a goroutine of its own, so other requests may come first.
func (c *wire) collect() {
	c.mu.Lock()
	burst, closed := c.out, c.closed && !c.said
	c.out = nil
	c.mu.Unlock()
	if from, to := watchesAgain(burst); from < to && c.e.w.Rand.IntN(2) == 0 {
		late := bytes.Clone(burst[from:to])
		burst = slices.Delete(burst, from, to)
		c.e.w.After(c.e.w.Between(0, 2*c.e.cfg.Delay), c.client, func() {
			c.client.Do(func() { c.up.send(func() { c.received(late) }) })
		})
	}
	if len(burst) > 0 {
		c.up.send(func() { c.received(burst) })
	}
	if closed {
		c.said = true
		c.up.send(c.end)
	}
}

// watchesAgain returns where in a burst the frame is that sets watches again; from = to if there is none.
func watchesAgain(burst []byte) (from, to int) {
	for from+12 <= len(burst) {
		to = from + 4 + int(binary.BigEndian.Uint32(burst[from:]))
		if Op(binary.BigEndian.Uint32(burst[from+8:])) == OpSetWatches && to <= len(burst) {
			return from, to
		}
		from = to
	}
	return 0, 0
}

// read lets the client's goroutines read a frame, and breaks the connection if it is the last before that.
func (c *wire) read(frame []byte) {
	if c.cut {
		return
	}
	c.mu.Lock()
	c.in = append(c.in, frame...)
	c.changed.Broadcast()
	c.mu.Unlock()
	if c.frames--; c.frames == 0 {
		c.reset()
	}
}

// snap breaks the client's end.
func (c *wire) snap(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failure == nil {
		c.failure = err
		c.changed.Broadcast()
	}
}
