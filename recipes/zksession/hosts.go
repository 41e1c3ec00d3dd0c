package zksession

import (
	"sync"
	"time"
)

// hosts tells go-zookeeper which server to dial next: the caller's list in the
// caller's order, round and round. (Its own provider shuffles the list, which
// would take the choice of spreading or pinning clients from the caller.)
//
// It never asks go-zookeeper to begin a new round, which would mean a fixed second
// of pause and an error for every unsent request: the pause is the dialer's, and a
// request that was not sent is not lost while the one session lives. Only when
// the session is over does it ask for that, since it is the one place where
// go-zookeeper looks whether it has been closed.
//
// A connection that breaks soon after its handshake counts as a server tried in vain: something about the session may
// break it each time, and without a pause the client would do nothing but reconnect.
type hosts struct {
	servers []string
	over    func() bool

	mu      sync.Mutex
	next    int
	futile  int       // servers tried since one served the session for a while
	since   time.Time // when the present or last connection had its handshake; zero if it is known to have broken
	backoff time.Duration
}

const (
	backoffMin = 10 * time.Millisecond
	backoffMax = time.Second
	// steady is for how long a connection has to last to count as a success.
	steady = time.Second
)

func (h *hosts) Init([]string) error { return nil } // its list is shuffled
func (h *hosts) Len() int            { return len(h.servers) }

func (h *hosts) Next() (server string, newRound bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	server = h.servers[h.next]
	h.next = (h.next + 1) % len(h.servers)
	if !h.since.IsZero() && time.Since(h.since) >= steady {
		h.futile, h.backoff = 0, 0
	}
	h.since = time.Time{}
	h.futile++
	return server, h.over()
}

func (h *hosts) Connected() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.since = time.Now()
}

// pause returns how long to wait before dialing the server that Next returned: not
// at all in the first round, then growing from round to round.
func (h *hosts) pause() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.futile <= len(h.servers) {
		return 0
	}
	if (h.futile-1)%len(h.servers) != 0 {
		return 0 // within a round
	}
	h.backoff = min(max(2*h.backoff, backoffMin), backoffMax)
	return h.backoff
}
