package wire

// A Fault is what happens to one request and to the connection that it is sent on.
type Fault int

// These are the faults. The connection either breaks or falls silent for good, and the client has to find that out by
// itself.
const (
	// RequestLost breaks the connection before the request is sent.
	RequestLost Fault = iota
	// ReplyLost breaks it once the server has answered, before the client reads that.
	ReplyLost
	// Mute delivers this request and all that follow on the connection, and none of the answers: to the server the
	// client seems well.
	Mute
	// BlackHole delivers nothing from this request on, in either direction.
	BlackHole
	// Late does no damage: the reply only waits until the strike's function has returned.
	Late
)

func (f Fault) String() string {
	return map[Fault]string{RequestLost: "request-lost", ReplyLost: "reply-lost", Mute: "mute", BlackHole: "black-hole",
		Late: "late"}[f]
}

// A strike is a fault that happens to the left-th request of a kind from now on.
type strike struct {
	op    int32
	left  int
	fault Fault
	then  func()
}

// Strike injects the fault into the n-th request of this kind from now on. then, if set, is called once at that
// moment, while the client waits and cannot know. For ReplyLost and Late that is after the request has taken effect.
func (w *Wire) Strike(op int32, n int, fault Fault, then func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.strikes = append(w.strikes, &strike{op, n, fault, then})
}

// MuteDials makes the next n connections go to servers that accept and never answer.
func (w *Wire) MuteDials(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.muteDials = n
}

// Order returns the kinds of the requests sent so far, in order. It leaves out pings and the requests that
// go-zookeeper sends by itself to set watches again or to close.
func (w *Wire) Order() (ops []int32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append(ops, w.order...)
}

// struck returns the strike that is due with this request, or nil. w.mu is held.
func (w *Wire) struck(op int32) *strike {
	for i, s := range w.strikes {
		if s.op != op {
			continue
		}
		if s.left--; s.left == 0 {
			w.strikes = append(w.strikes[:i:i], w.strikes[i+1:]...)
			return s
		}
	}
	return nil
}
