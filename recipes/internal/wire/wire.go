package wire

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"locklab/recipes/zkproto"
)

// A Wire makes the connections of one session. Its methods may be called from any goroutine.
type Wire struct {
	mu        sync.Mutex
	counts    map[int32]int
	dials     int
	order     []int32
	strikes   []*strike
	losses    int
	onLoss    func()
	random    *rand.Rand
	granted   zkproto.Grant
	greeted   *conn // the connection on which a server granted that
	killed    int64 // a session that has ended; see Kill
	mute      map[string]bool
	muteDials int
	refuse    bool
	lag       bool // see Lag
	// disowned is a session that servers refuse; see Disown.
	disowned zkproto.Grant
	// forgotten is a session that servers do not know any more; see Forget.
	forgotten zkproto.Grant
	// asked is when the latest request was sent that a server has answered; silence is explained at Silence.
	asked   time.Time
	silence time.Duration
}

// New returns a wire that injects no faults yet.
func New() *Wire { return &Wire{counts: map[int32]int{}, mute: map[string]bool{}} }

// ErrCut is what the client sees of a connection that was broken.
var ErrCut = errors.New("cut by the test")

// Dial makes a connection.
func (w *Wire) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	w.mu.Lock()
	w.dials++
	mute, refuse := w.mute[address], w.refuse
	if !refuse && w.muteDials > 0 {
		w.muteDials--
		mute = true
	}
	w.mu.Unlock()
	if refuse {
		return nil, ErrCut
	}
	if mute {
		client, server := net.Pipe()
		go func() { _, _ = io.Copy(io.Discard, server) }() // ends when the client closes
		return client, nil
	}
	c, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c, w: w, struck: map[int32]*strike{}, old: map[int32]bool{}}, nil
}

// Lose breaks the connection before the reply to the n-th request of this kind from now on is read: the request takes
// effect, and the client does not hear of it.
func (w *Wire) Lose(op int32, n int) { w.Strike(op, n, ReplyLost, nil) }

// Cut breaks the connection before the n-th request of this kind from now on is sent.
func (w *Wire) Cut(op int32, n int) { w.Strike(op, n, RequestLost, nil) }

// OnLoss sets a function that is called at each fault, before the client can know of it.
func (w *Wire) OnLoss(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.onLoss = f
}

// BreakAtRandom loses every sixtieth request or so and as many replies, also of those that set watches again after an
// earlier loss; nil ends that.
func (w *Wire) BreakAtRandom(r *rand.Rand) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.random = r
}

// Refuse makes every dial fail, or lets dials succeed again. Existing connections stay.
func (w *Wire) Refuse(refuse bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refuse = refuse
}

// Mute makes the server at address accept and never answer, from the next dial on.
func (w *Wire) Mute(address string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mute[address] = true
}

// Requests returns how many requests were sent, without pings, and the number of each kind.
func (w *Wire) Requests() (all int, by map[int32]int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	by = map[int32]int{}
	for op, n := range w.counts {
		if op != OpPing {
			all += n
			by[op] = n
		}
	}
	return all, by
}

// Losses returns how many faults have been injected.
func (w *Wire) Losses() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.losses
}

// Dials returns how many times the client has dialed.
func (w *Wire) Dials() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dials
}

// sent returns the strike for a request; nil = the request is sent as it is.
func (w *Wire) sent(op int32) *strike {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.struck(op)
	ours := op != OpPing && op != OpSetWatches && op != OpClose
	if s == nil && w.random != nil && (ours || op == OpSetWatches) {
		switch w.random.IntN(60) {
		case 0:
			s = &strike{fault: RequestLost}
		case 1:
			s = &strike{fault: ReplyLost}
		}
	}
	if s == nil || s.fault != RequestLost {
		w.counts[op]++
		if ours {
			w.order = append(w.order, op)
		}
	}
	return s
}

// struckNow calls the functions that wait for a strike.
func (w *Wire) struckNow(s *strike) {
	w.mu.Lock()
	w.losses++
	onLoss := w.onLoss
	w.mu.Unlock()
	if onLoss != nil {
		onLoss()
	}
	if s.then != nil {
		s.then()
	}
}
