package capacity

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
