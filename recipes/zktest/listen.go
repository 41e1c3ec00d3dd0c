package zktest

import (
	"context"
	"errors"
	"fmt"
	"net"
)

// Listen makes the servers listen on ports of 127.0.0.1, at the addresses that Addrs then returns, until Close.
func (s *Service) Listen() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.listeners) > 0 {
		return errors.New("listen: the service listens or is closed already")
	}
	for _, m := range s.servers {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			for _, other := range s.listeners {
				_ = other.Close()
			}
			return fmt.Errorf("listen: %w", err)
		}
		s.listeners = append(s.listeners, l)
		m.address = l.Addr().String()
	}
	for i, l := range s.listeners {
		s.serving.Go(func() { s.accept(s.servers[i], l) })
	}
	return nil
}

// accept serves the connections of a server until its listener is closed.
func (s *Service) accept(m *server, l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		if !s.serve(m, conn) {
			_ = conn.Close()
		}
	}
}

// Dial connects to a server by its address, without a network: see [zksession.Config]. It needs no Listen, and works in
// a bubble of testing/synctest, where the client's timeouts and the service's take no real time.
func (s *Service) Dial(_ context.Context, _, address string) (net.Conn, error) {
	s.mu.Lock()
	var to *server
	for _, m := range s.servers {
		if m.address == address && !m.stopped {
			to = m
		}
	}
	s.mu.Unlock()
	if to == nil {
		return nil, fmt.Errorf("dial %s: no server of this service has this address and runs", address)
	}
	near, far := net.Pipe()
	if !s.serve(to, far) {
		return nil, errors.Join(fmt.Errorf("dial %s: the service is closed", address), near.Close(), far.Close())
	}
	return near, nil
}

// serve serves a connection, or returns false if the service is closed.
func (s *Service) serve(m *server, with net.Conn) bool {
	c := newConn(s, m, with)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.conns[c] = struct{}{}
	s.serving.Go(func() {
		c.converse()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.conns, c)
	})
	return true
}

// Close ends the service: it stops listening, breaks all connections and waits for the goroutines that serve them.
// Functions of Intercept that block must return first.
func (s *Service) Close() {
	s.mu.Lock()
	s.closed = true
	for _, l := range s.listeners {
		_ = l.Close()
	}
	for c := range s.conns {
		c.close()
	}
	for _, ss := range s.sessions {
		ss.unwatch()
	}
	s.mu.Unlock()
	s.serving.Wait()
}
