package capacity

// A Reason says why a window was bad, or why it does not count.
type Reason string

// The reasons. Holds means that there is none: the window was good.
const (
	Holds      Reason = ""
	Missed     Reason = "threshold" // more than the goal loss ratio was lost, or another limit was missed
	NotReached Reason = "rate"      // fewer were done than arrived, so the backlog grows
	Undecided  Reason = "unknown"   // the window does not say whether the rate holds
	Void       Reason = "void"      // the load side was the limit, so the window says nothing about the servers
	Violation  Reason = "violation" // the lock was unsafe, so no rate counts
)

// A Kind says what a window is for.
type Kind string

// The kinds of windows.
const (
	Short     Kind = "short"     // is too short to show that a level holds; it only says where to look
	Full      Kind = "full"      // decides
	Disturbed Kind = "disturbed" // has a disturbance, after which the bound must hold again
	Away      Kind = "away"      // is full, and one server is away
)

// A Trial is one window at one level of the load: RFC 9971's trial. The level is the rate of arrivals, or the number of
// clients or of locks.
type Trial struct {
	Level  float64 `json:"level"`
	Kind   Kind    `json:"kind"`
	Reason Reason  `json:"reason"` // empty if it was good
	Detail string  `json:"detail"` // with numbers
	// Losses are the shares of the acquisitions due that were lost, by goal: late, failed, dropped or unfinished. A goal
	// that is not about a percentile of a latency has null.
	Losses []*float64 `json:"losses"`
	// PerS is how many acquisitions a second were granted, late ones included; null if that is not known.
	PerS *float64 `json:"acquired_per_s"`
	// DroppedPerS is how many a second found no place; null in a closed loop.
	DroppedPerS *float64 `json:"dropped_per_s"`
	// Latency has the quantiles of the time to get the lock; null where it has too few samples.
	Latency Quantiles `json:"acquire"`
	// RecoveredNs is how long after a disturbance the bound held again, to the end; null if it did not, and in windows
	// without a disturbance.
	RecoveredNs *int64 `json:"recovered_ns,omitempty"`
	// Seconds is what the trial took in all, with what comes before and after the window.
	Seconds float64 `json:"seconds"`
}

// Quantiles are some quantiles of a latency, in nanoseconds.
type Quantiles struct {
	P50Ns  *int64 `json:"p50_ns"`
	P99Ns  *int64 `json:"p99_ns"`
	P999Ns *int64 `json:"p999_ns"`
}

// counts reports whether the window says something about the servers.
func (t *Trial) counts() bool { return t.Reason != Undecided && t.Reason != Void }

// exceedRatio is the goal exceed ratio of RFC 9971: the share of bad windows that is tolerated at a level. With one
// half, which the RFC recommends because searches then vary least in length, the answer is where a window is as often
// good as bad.
const exceedRatio = 0.5

// windows is how many full windows decide a level, and how many both bounds that are told rest on at least.
const windows = 5

// mostVoid is how many windows of a level may be void until the load side counts as unable to ask for it, if no more of
// the others counted.
const mostVoid = 2

// A class is what the windows of a level say about it.
type class int

const (
	undecided class = iota
	lower           // the level holds
	upper           // the level does not hold
	barred          // the load side cannot ask for it
)

// A tally counts the windows of one level.
type tally struct {
	good, bad float64
	void      int
	// inARow is how many of the last windows were undecided.
	inARow int
}

func (t *tally) add(r Reason) {
	switch r {
	case Undecided:
		t.inARow++
		return
	case Void:
		t.void++
	case Holds:
		t.good++
	default:
		t.bad++
	}
	t.inARow = 0
}

// counted returns how many windows say something about the servers.
func (t *tally) counted() int { return int(t.good + t.bad) }

// class classifies a level by RFC 9971's rule for windows of one length. What is missing to the duration sum is taken
// to be bad for a lower bound, and good for an upper one.
func (t *tally) class() class {
	all := max(t.good+t.bad, windows)
	missing := all - t.good - t.bad
	switch {
	case t.bad+missing <= exceedRatio*all:
		return lower
	case t.bad > exceedRatio*all:
		return upper
	case t.void >= mostVoid && t.void > t.counted():
		return barred
	}
	return undecided
}

// settled reports whether a bound may be told: it rests on enough windows, or the load side cannot ask for more.
func (t *tally) settled() bool {
	return t.counted() >= windows || t.class() == barred || t.void >= windows
}
