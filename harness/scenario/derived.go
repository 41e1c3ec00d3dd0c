package scenario

import (
	"fmt"
	"time"

	"locklab/chaos"
	"locklab/harness/settings"
	"locklab/workloads"
)

// SessionLimits returns the servers' limits of a session's timeout, with ZooKeeper's defaults of 2 and 20 ticks for
// those that are not set.
func (s *Scenario) SessionLimits() (lo, hi time.Duration) {
	lo, hi = s.MinSessionTimeout, s.MaxSessionTimeout
	if lo == 0 {
		lo = 2 * s.Tick
	}
	if hi == 0 {
		hi = 20 * s.Tick
	}
	return lo, hi
}

// Negotiated returns the session timeout T that clients will get: what they ask for, brought within the servers'
// limits.
func (s *Scenario) Negotiated() time.Duration {
	lo, hi := s.SessionLimits()
	return max(lo, min(hi, s.SessionTimeout))
}

// Expiry returns the shortest silence of a client after which its session has certainly expired: T + 2 ticks. The
// servers may round up to a tick and hear of a touch half a tick late, so the bound is T + 1.5 ticks; the rest is
// margin.
func (s *Scenario) Expiry() time.Duration { return s.Negotiated() + 2*s.Tick }

// Recovery returns how much of the run must be left after a fault: one session timeout, because locks of a dead session
// are not released earlier.
func (s *Scenario) Recovery() time.Duration { return s.Negotiated() }

// Resolve returns how long the span is in this scenario.
func (s *Scenario) Resolve(sp chaos.Span) time.Duration { return sp.Resolve(s.Negotiated(), s.Tick) }

// Liveness is how much longer clients work after the measured window and the final heal, so that progress can be
// demanded of each.
type Liveness time.Duration

// LivenessAuto lasts as long as it takes all clients to make progress; without faults it is 0.
const LivenessAuto Liveness = -1

// maxLiveness bounds what a scenario can ask for.
const maxLiveness = Liveness(time.Hour)

// String writes the length as Set reads it.
func (l *Liveness) String() string {
	if *l == LivenessAuto {
		return "auto"
	}
	return settings.FormatDuration(time.Duration(*l))
}

// Set reads auto or a duration.
func (l *Liveness) Set(text string) error {
	if text == "auto" {
		*l = LivenessAuto
		return nil
	}
	d, err := settings.ParseDuration(text)
	if *l = Liveness(d); err == nil && (*l < 0 || *l > maxLiveness) {
		err = settings.Errorf("auto, or from 0 to 1h", "liveness of %s is out of range", settings.FormatDuration(d))
	}
	return err
}

// Schema is the schema of what Set reads.
func (Liveness) Schema() settings.Schema {
	return settings.Schema{"anyOf": []settings.Schema{{"const": "auto"}, settings.DurationSchema()}}
}

// LivenessPhase returns how long clients work on after the measured window once everything is healed. For LivenessAuto
// that is an upper bound: the service has then expired every client that a fault has cut off, and each client has had
// time for a turn, see [Scenario.round]. If clients lead until they lose the lock, there are no turns.
func (s *Scenario) LivenessPhase() time.Duration {
	switch {
	case s.Iterations > 0 || s.Liveness == LivenessAuto && !s.HasFaults():
		return 0
	case s.Liveness == LivenessAuto && !s.Rotates():
		return s.Expiry() + 5*time.Second
	case s.Liveness == LivenessAuto:
		return s.Expiry() + 5*time.Second + min(2*s.round(), longestTurn)
	}
	return time.Duration(s.Liveness)
}

// longestTurn bounds the time that LivenessAuto allows for all turns. If critical sections are so long, and clients so
// many, that a run would take minutes longer, the scenario has to give the time itself.
const longestTurn = 2 * time.Minute

// round returns how long it takes until every client has had a lock, if all always want one, are spread evenly over the
// locks, and spend time only in critical sections. Locks are drawn at random, so it may well take twice that.
func (s *Scenario) round() time.Duration {
	atOnce := max(s.Locks, 1)
	if s.Workload == workloads.Semaphore {
		atOnce *= max(s.Permits, 1)
	}
	turns := (s.Clients + atOnce - 1) / atOnce
	return time.Duration(turns)*s.held() + s.Think.Mean()
}

// held returns how long a client keeps what it holds, on average.
func (s *Scenario) held() time.Duration { return max(s.Hold.Mean(), s.Term) }

// Rotates reports whether a client that holds a lock gives it up during the run, even if it does not lose it.
func (s *Scenario) Rotates() bool { return s.Duration == 0 || s.Term < s.Duration }

// DemandsProgress reports whether each client must get a lock after the last heal of that plan. That can be demanded
// where clients go on working after faults, ask again and again for as long as it takes, and give the lock up in
// between.
func (s *Scenario) DemandsProgress(plan chaos.Plan) bool {
	return len(plan.Steps) > 0 && s.LivenessPhase() > 0 && !s.Open() && !s.Try && s.Wait == 0 && s.Rotates()
}

// ClientsPerProcess returns how many clients each client process runs, c1 first. They are dealt evenly, and the first
// processes get the remainder. With VictimAlone, c1 or the first Victims get one each, and the others share the rest.
func (s *Scenario) ClientsPerProcess() []int {
	n := make([]int, max(s.ClientProcesses, 0))
	deal, clients := n, s.Clients
	if alone := max(s.Victims, 1); s.VictimAlone && len(n) > alone {
		for i := range alone {
			n[i] = 1
		}
		deal, clients = n[alone:], clients-alone
	}
	for i := range deal {
		deal[i] = clients / len(deal)
		if i < clients%len(deal) {
			deal[i]++
		}
	}
	return n
}

// ClientNames returns the names of all clients, process by process: c1/0 is the first client of the first process.
func (s *Scenario) ClientNames() []string {
	var all []string
	for i, n := range s.ClientsPerProcess() {
		for k := range n {
			all = append(all, fmt.Sprintf("c%d/%d", i+1, k))
		}
	}
	return all
}
