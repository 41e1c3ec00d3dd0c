package zktest

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// A Request is what a test can know of a request that has come to a service.
type Request struct {
	// Session is the id of the client's session.
	Session int64
	Op      Op
	// Paths are the paths that the request is about: one, or those of all operations of a multi, or none.
	Paths []string
	// Watch says that a read leaves a watch.
	Watch bool
}

// An Outcome says what becomes of a request.
type Outcome int

const (
	// Answered requests are executed and answered.
	Answered Outcome = iota
	// RequestLost breaks the connection before the request is executed.
	RequestLost
	// ReplyLost breaks the connection once the request is executed; the client does not know whether it was.
	ReplyLost
	// ExpireBefore makes the service expire the session instead of executing the request.
	ExpireBefore
	// ExpireAfter makes the service expire the session once it has executed the request, whose reply is lost.
	ExpireAfter
)

// String returns the outcome in words.
func (o Outcome) String() string {
	switch o {
	case Answered:
		return "answered"
	case RequestLost:
		return "request lost"
	case ReplyLost:
		return "reply lost"
	case ExpireBefore:
		return "expired before the request"
	case ExpireAfter:
		return "expired after the request"
	}
	return fmt.Sprintf("outcome %d", int(o))
}

// A Fault is what happens to one request. The zero Fault is none.
type Fault struct {
	Outcome Outcome
	// Delay is how long the request waits before it is executed, as if it were long on its way.
	Delay time.Duration
	// ReplyDelay is how long the reply waits once the request is executed. All that the service sends after it on the
	// same connection waits too, as on a slow network.
	ReplyDelay time.Duration

	_ struct{} // no positional literals
}

// faults decide what happens to requests.
type faults struct {
	mu     sync.Mutex
	next   []strike
	delays map[Op]time.Duration
	decide func(Request) Fault
}

// A strike is a fault for the next request of a kind.
type strike struct {
	op    Op
	fault Fault
}

// Next makes the next request of a kind meet a fault. Several faults of one kind meet as many requests, in order.
func (s *Service) Next(op Op, f Fault) {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.next = append(s.faults.next, strike{op, f})
}

// LoseReply makes the service execute the next request of a kind, and break the connection instead of answering.
func (s *Service) LoseReply(op Op) { s.Next(op, Fault{Outcome: ReplyLost}) }

// LoseRequest makes the service break the connection by which the next request of a kind comes, and not execute it.
func (s *Service) LoseRequest(op Op) { s.Next(op, Fault{Outcome: RequestLost}) }

// Delay makes the replies to all requests of a kind, from now on, wait for d; 0 ends that. A client that hears nothing
// for two thirds of its session timeout takes its server for dead, and goes to another.
func (s *Service) Delay(op Op, d time.Duration) {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	if s.faults.delays == nil {
		s.faults.delays = map[Op]time.Duration{}
	}
	s.faults.delays[op] = d
}

// Intercept makes decide say what happens to every request but pings that Next leaves alone; nil ends that. It is
// called before the request is executed, from the goroutine that serves its connection, or its call of [Session]. It
// may block, for as long as the request is to be on its way, and may call all methods of the service.
func (s *Service) Intercept(decide func(Request) Fault) {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.decide = decide
}

// fate decides about a request; own, if set, replaces what Intercept has set. s.mu is not held.
func (s *Service) fate(session int64, r *request, own func(Request) Fault) Fault {
	f := &s.faults
	f.mu.Lock()
	decide, delay := f.decide, f.delays[r.op]
	if own != nil {
		decide = own
	}
	if i := slices.IndexFunc(f.next, func(n strike) bool { return n.op == r.op }); i >= 0 {
		fault := f.next[i].fault
		f.next = slices.Delete(f.next, i, i+1)
		f.mu.Unlock()
		return fault
	}
	f.mu.Unlock()
	var fault Fault
	if decide != nil && r.op != OpPing {
		fault = decide(r.describe(session))
	}
	fault.ReplyDelay = max(fault.ReplyDelay, delay)
	return fault
}

// describe returns what a test can know of a request.
func (r *request) describe(session int64) Request {
	d := Request{Session: session, Op: r.op, Watch: r.watch}
	for _, op := range r.ops {
		d.Paths = append(d.Paths, op.path)
	}
	if r.path != "" {
		d.Paths = []string{r.path}
	}
	return d
}
