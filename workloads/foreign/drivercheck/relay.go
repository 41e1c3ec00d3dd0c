package drivercheck

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"

	"locklab/ensembles/reach"
	"locklab/ensembles/remote"
	"locklab/recipes/zkproto"
	"locklab/recipes/zksession"
)

// A relay is the way to the servers of an ensemble through this process. It reads the passwords of the sessions that
// pass, so that a case can break a session's connection and end it.
type relay struct {
	access *remote.Access
	path   *remote.Path        // what the locks are below, which is removed at the end
	zk     zksession.ZooKeeper // for looking at znodes
	ctx    context.Context     // ends with the relay
	cancel context.CancelFunc

	listeners []net.Listener
	passing   sync.WaitGroup

	mu      sync.Mutex
	granted map[int64]zkproto.Grant // by session
	conns   map[net.Conn]int64      // to clients that have sessions
}

// newRelay makes a path in the ensemble and listens on a port of 127.0.0.1 for each server. An error for which the
// ensemble is to blame wraps [remote.ErrUnusable].
func newRelay(ctx context.Context, access *remote.Access) (servers, error) {
	id := make([]byte, 4)
	_, _ = rand.Read(id) // it never fails
	quiet := slog.New(slog.DiscardHandler)
	p, err := access.MakePath(ctx, hex.EncodeToString(id), quiet)
	if err != nil {
		return nil, err
	}
	r := &relay{access: access, path: p, granted: map[int64]zkproto.Grant{}, conns: map[net.Conn]int64{}}
	r.ctx, r.cancel = context.WithCancel(context.WithoutCancel(ctx))
	if r.zk, err = access.Session(ctx, sessionTimeout, quiet, access.Servers...); err != nil {
		r.close()
		return nil, fmt.Errorf("%w: %w", remote.ErrUnusable, err)
	}
	for _, server := range access.Servers {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			r.close()
			return nil, err
		}
		r.listeners = append(r.listeners, l)
		r.passing.Go(func() {
			reach.Relay(r.ctx, l, func(ctx context.Context, c net.Conn) { r.pass(ctx, c, server) })
		})
	}
	return r, nil
}

// mostHello is more than a connect request or its answer has.
const mostHello = 1 << 10

// pass passes a client's connection on to a server until either end closes it.
func (r *relay) pass(ctx context.Context, c net.Conn, server string) {
	s, err := r.access.Dial(ctx, "tcp", server)
	if err != nil {
		return
	}
	defer reach.Until(ctx, s)()
	hello, err := zkproto.ReadFrame(c, mostHello)
	if err != nil {
		return
	}
	if _, err := s.Write(zkproto.Frame(hello)); err != nil {
		return
	}
	answer, err := zkproto.ReadFrame(s, mostHello)
	if err != nil {
		return
	}
	if g, err := zkproto.ParseGrant(answer); err == nil && g.Session != 0 {
		r.mu.Lock()
		r.granted[g.Session], r.conns[c] = g, g.Session
		r.mu.Unlock()
		defer func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			delete(r.conns, c)
		}()
	}
	if _, err := c.Write(zkproto.Frame(answer)); err == nil {
		reach.Join(s, c)
	}
}

func (r *relay) addrs() (all []string) {
	for _, l := range r.listeners {
		all = append(all, l.Addr().String())
	}
	return all
}

func (r *relay) base() string { return r.path.Name }

func (r *relay) sessions() (ids []int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id := range r.granted {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

func (r *relay) disconnect(session int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c, id := range r.conns {
		if id == session {
			_ = c.Close()
		}
	}
}

// endCap bounds one attempt to end a session.
const endCap = 2 * time.Second

func (r *relay) expire(ctx context.Context, session int64) error {
	r.mu.Lock()
	g, known := r.granted[session]
	delete(r.granted, session)
	r.mu.Unlock()
	if !known {
		return fmt.Errorf("session %#x is not one that the command made at SERVERS", uint64(session))
	}
	for {
		err := r.end(ctx, g)
		// A server that lets the client take the session back just then keeps the connection, and answers its pings.
		r.disconnect(session)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("end session %#x at the servers: %w", uint64(session), err)
		}
	}
}

func (r *relay) end(ctx context.Context, g zkproto.Grant) error {
	once, cancel := context.WithTimeout(ctx, endCap)
	defer cancel()
	conn, err := r.access.Dial(once, "tcp", r.access.Servers[0])
	if err != nil {
		return err
	}
	defer conn.Close()
	deadline, _ := once.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return err
	}
	return zkproto.End(conn, g)
}

func (r *relay) node(ctx context.Context, name string) (owner int64, children []string, found bool) {
	if r.zk.Sync(ctx, name) != nil {
		return 0, nil, false
	}
	_, stat, err := r.zk.Get(ctx, name)
	if err != nil {
		return 0, nil, false
	}
	children, err = r.zk.Children(ctx, name)
	slices.Sort(children)
	return stat.Owner, children, err == nil
}

// close removes the path. The sessions that a command has left go on until they expire.
func (r *relay) close() {
	r.cancel()
	r.passing.Wait()
	after := context.WithoutCancel(r.ctx)
	ctx, cancel := context.WithTimeout(after, endCap)
	defer cancel()
	for _, g := range r.granted {
		_ = r.end(ctx, g) // most have been closed already
	}
	ctx, cancel = context.WithTimeout(after, sessionTimeout)
	defer cancel()
	if r.zk != nil {
		_ = r.zk.Close(ctx)
	}
	_ = r.path.Close(ctx) // locklab clean --connect removes what is left
}
