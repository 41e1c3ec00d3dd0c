package zktest

import (
	"fmt"
	"net"
	"path"
	"sync"
	"testing"
	"time"
)

// Config says what a service is like. The zero Config is a service of one server on the real clock.
type Config struct {
	// Servers is how many servers there are; 0 = 1.
	Servers int
	// Clock is the time by which sessions expire and delays end; nil = the real time, which is virtual in a bubble of
	// testing/synctest.
	Clock Clock
	// NoContainers makes the servers like those from before ZooKeeper 3.5, which do not know container znodes.
	NoContainers bool
	// ExistsNeedsRead makes exists need the permission to read, as it does in ZooKeeper 3.9.3, and not in 3.8.0
	// (ZOOKEEPER-2590).
	ExistsNeedsRead bool
	// ForgetsSessions makes the servers answer each reconnect with a new session, as some do that are not ZooKeeper's. The
	// old session lives until its timeout has passed.
	ForgetsSessions bool

	_ struct{} // no positional literals
}

// A Service is a ZooKeeper service in memory. Its methods may be called from any goroutine.
type Service struct {
	cfg    Config
	faults faults

	mu       sync.Mutex
	zxid     int64 // the newest transaction
	tree     tree  // as of that
	servers  []*server
	sessions map[int64]*session
	last     int64 // the number of the newest session, from 1
	closed   bool
	// proposed, if set, is told of a transaction in the place of the servers, which an [Ensemble] lets learn of it later.
	proposed func([]change)

	listeners []net.Listener
	serving   sync.WaitGroup
	conns     map[*conn]struct{}
}

// New returns a service that can be reached by [Service.Session] and [Service.Dial], and over TCP once Listen has been
// called. A service needs no Close if Listen is not called and all connections are closed.
func New(cfg Config) *Service {
	if cfg.Clock == nil {
		cfg.Clock = realClock{}
	}
	s := &Service{cfg: cfg, tree: newTree(), sessions: map[int64]*session{},
		conns: map[*conn]struct{}{}}
	for i := range max(cfg.Servers, 1) {
		s.servers = append(s.servers, &server{svc: s, watches: newWatches(), address: fmt.Sprintf("server-%d:2181", i)})
	}
	return s
}

// Start returns a service of one server that listens on a port of 127.0.0.1 until the test ends.
func Start(t testing.TB) *Service {
	t.Helper()
	return StartWith(t, Config{})
}

// StartWith is [Start] with a configuration.
func StartWith(t testing.TB, cfg Config) *Service {
	t.Helper()
	s := New(cfg)
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// Addrs returns the addresses of the servers, for [zksession.Config]. Before Listen they have meaning only for
// [Service.Dial].
func (s *Service) Addrs() (addrs []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.servers {
		addrs = append(addrs, m.address)
	}
	return addrs
}

// apply carries out a change on the newest data, and notes whom its events may reach. s.mu is held.
func (s *Service) apply(c *change) (undo func()) {
	c.parentACL = s.tree[path.Dir(c.path)].acl
	if n := s.tree[c.path]; n != nil {
		c.nodeACL = n.acl
	} else {
		c.nodeACL = c.acl
	}
	return s.tree.apply(*c)
}

// commit carries out the changes of a transaction that has been validated on s.tree already. s.mu is held.
func (s *Service) commit(changes []change) {
	if s.proposed != nil {
		s.proposed(changes)
		return
	}
	for _, m := range s.servers {
		m.learn(changes)
	}
}

// now returns the time as servers note it. s.mu need not be held.
func (s *Service) now() int64 { return s.cfg.Clock.Now().UnixMilli() }

// wait waits by the service's clock until d has passed, or over is closed.
func (s *Service) wait(d time.Duration, over <-chan struct{}) {
	if d <= 0 {
		return
	}
	passed := make(chan struct{})
	stop := s.cfg.Clock.AfterFunc(d, func() { close(passed) })
	defer stop()
	select {
	case <-passed:
	case <-over:
	}
}

// A Clock tells a service the time. Sessions expire, and delays end, by it.
type Clock interface {
	Now() time.Time
	// AfterFunc calls f once d has passed, unless stop is called before. It must not call f before it has returned.
	AfterFunc(d time.Duration, f func()) (stop func())
}

// realClock is the clock of package time, which is virtual in a bubble of testing/synctest.
type realClock struct{}

func (realClock) Now() time.Time { return time.Now() }

func (realClock) AfterFunc(d time.Duration, f func()) (stop func()) {
	t := time.AfterFunc(d, f)
	return func() { t.Stop() }
}
