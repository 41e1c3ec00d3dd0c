package chaos

import (
	"time"
)

// A Setting describes a run before it begins, as far as its faults depend on it.
type Setting struct {
	Servers           int
	Clients           int
	ClientProcesses   int
	ClientsPerProcess []int // c1 first
	// Duration is the length of the measured window; 0 = the run ends when its clients have done their iterations.
	Duration time.Duration
	// Timeout is the session timeout T that clients will get, Tick the servers' tick.
	Timeout, Tick time.Duration
	// Deposed is about how long a leader that is cut off from the others still serves.
	Deposed time.Duration
	Locks   int
	// Stay says that each client knows only one server.
	Stay bool

	Workload string
	// Points are the points of critical sections at which a victim can be stopped, the usual one first. Sectionless
	// says that clients do nothing in their critical sections, and so reach none of the points.
	Points      []string
	Sectionless bool

	Recipe string
	// Supersedes says that a client which takes the place of another can be told: by its token, or because no two
	// clients hold the lock.
	Supersedes bool
	// TokenRecipe is a recipe of the workload that gives tokens.
	TokenRecipe string
	// OwnSession returns the recipe of a client process, numbered from 0, if that recipe does not disclose its
	// session's password; otherwise it returns "".
	OwnSession func(process int) string
}

// Recovery is how much of the run must be left after a fault: one session timeout, because a dead session keeps its
// locks for that long.
func (s *Setting) recovery() time.Duration { return s.Timeout }

// Expiry is the shortest silence of a client after which its session has certainly expired: T + 2 ticks. (The servers
// may round up to a tick and learn of a touch half a tick late, so T + 1.5 ticks is the bound. The rest is margin.)
func (s *Setting) expiry() time.Duration { return s.Timeout + 2*s.Tick }

// Resolve returns how long a span is in the run.
func (s *Setting) resolve(span Span) time.Duration { return span.Resolve(s.Timeout, s.Tick) }

// lasts returns the shortest time that the fault can last.
func (s *Setting) lasts(f Fault) time.Duration {
	switch {
	case f.Momentary():
		return 0
	case f.Until != "":
		return s.expiry() + f.Linger
	}
	return s.resolve(f.For)
}

// times returns how often the fault is injected: once, or as often as it says, or as often as the run has room for.
func (s *Setting) times(f Fault) int {
	switch {
	case f.Trigger != "":
		return max(f.Repeat, 1)
	case f.Every <= 0:
		return 1
	case f.Repeat > 0:
		return f.Repeat
	}
	room := s.Duration - s.recovery() - s.lasts(f) - f.At
	return 1 + int(max(room, 0)/f.Every)
}

func (s *Setting) begins(f Fault) []time.Duration {
	var all []time.Duration
	for n := range min(s.times(f), MaxFaults) {
		all = append(all, f.At+time.Duration(n)*f.Every)
	}
	return all
}

// Meet reports whether the faults may be in force at the same time. A fault with a trigger may be in force at any
// time.
func (s *Setting) meet(f, g Fault) bool {
	if f.Trigger != "" || g.Trigger != "" {
		return true
	}
	occupies := func(f Fault) time.Duration { return s.lasts(f) + f.kind().Room }
	for _, a := range s.begins(f) {
		for _, b := range s.begins(g) {
			if a <= b+occupies(g) && b <= a+occupies(f) {
				return true
			}
		}
	}
	return false
}

// serversDown returns how many servers are out of action when a fault strikes, including those of the other faults
// that are in force then.
func (s *Setting) serversDown(f Fault, others []Fault) int {
	if !f.disables() {
		return 0
	}
	n := 1
	for _, g := range others {
		if g.disables() && g.Target != f.Target && s.meet(f, g) {
			n++
		}
	}
	return n
}

// follows reports whether the later of the faults waits for the earlier one, because both have triggers and strike the
// same host or the same role.
func follows(f, g Fault) bool { return f.Trigger != "" && g.Trigger != "" && f.Target == g.Target }

// composes reports whether the faults can be in force on one host together, so that healing one of them keeps the
// other.
func composes(f, g Fault) bool {
	a, b := f.kind(), g.kind()
	if f.HitsHolder() && g.HitsHolder() && mayBeSame(f.Target, g.Target) {
		return false // one of them would take the other's trigger
	}
	return a.Slot == "" || a.Slot != b.Slot || a.Name == b.Name && a.Shared || !mayBeSame(f.Target, g.Target)
}
