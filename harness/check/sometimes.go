package check

import (
	"fmt"
	"slices"
	"strings"

	"locklab/harness/check/evidence"
	"locklab/harness/history"
)

var sometimesCheck = evidence.Check{
	Name:    evidence.Sometimes,
	Asks:    "did everything happen that the scenario names under sometimes, without which a pass would mean nothing?",
	Subject: "what had to happen for the run to mean anything",
	OfRun:   true,
	Judge:   judgeSometimes,

	ReadsCounters: true,
}

// A Condition is something that must happen at least once in a run for its verdict to mean anything. To add one, add
// its line to [Conditions].
type Condition struct {
	// Name is what a scenario's sometimes calls it.
	Name string
	// Means says what happens, as a sentence without a full stop.
	Means string
	// Tokens says that only locks with tokens can meet it, Accesses that clients must use what the lock protects,
	// Faults that something must break, Sharing that holds must be possible that do not exclude each other, Several
	// that there must be more than one client, and Asks that the guard must ask before an access.
	Tokens, Accesses, Faults, Sharing, Several, Asks bool
	// Fails is the name of the check that fails where it is met; empty if there is none.
	Fails string

	// count returns how often it happened, nil if that was not measured.
	count func(*evidence.Digest, *evidence.Safety) *int64

	_ struct{}
}

// Conditions returns all conditions, in the order of a report.
func Conditions() []Condition {
	return []Condition{
		{Name: "contended-hand-off", Means: "a client got the lock that it had waited for while another client held it",
			Several: true, count: contendedHandOffs},
		{Name: "shared-hold", Means: "two clients held the lock together, to read or with a permit each",
			Several: true, Sharing: true, count: sharedHolds},
		{Name: "hold-met-fault", Means: "a client that a fault could affect held a lock while the fault was in force",
			Faults: true, count: holdsMetFaults},
		{Name: "wait-met-fault", Means: "a client that a fault could affect waited for a lock while the fault was in force",
			Faults: true, Several: true, count: waitsMetFaults},
		{Name: "hold-lost", Means: "a client learned that it had lost a lock that it had not released",
			count: holdsLost},
		{Name: "overlap", Means: "two clients believed at once that they held a lock",
			Several: true, Fails: evidence.BeliefExclusion, count: func(_ *evidence.Digest,
				s *evidence.Safety) *int64 {
				return s.Overlaps
			}},
		{Name: "guard-refusal", Means: "a client's own guard kept it from an access",
			Accesses: true, Asks: true, count: guardRefusals},
		{Name: "stale-access", Means: "an outdated access was attempted, and was accepted or refused",
			Tokens: true, Accesses: true, Several: true, count: staleAccesses},
		{Name: "untold-stale-write", Means: "an outdated write was invoked before its client learned of the loss",
			Tokens: true, Accesses: true, Several: true,
			count: func(_ *evidence.Digest, s *evidence.Safety) *int64 { return s.StaleWritesUntold }},
		{Name: "others-update-lost", Means: "an update was lost whose own client was not outdated",
			Tokens: true, Accesses: true, Several: true, Fails: evidence.Effect,
			count: func(_ *evidence.Digest, s *evidence.Safety) *int64 { return s.LostUpdatesOfOthers }},
	}
}

// ConditionNamed returns the condition of that name, and false if there is none.
func ConditionNamed(name string) (Condition, bool) {
	all := Conditions()
	if i := slices.IndexFunc(all, func(c Condition) bool { return c.Name == name }); i >= 0 {
		return all[i], true
	}
	return Condition{}, false
}

// ConditionNames returns the names of all conditions, in the order of a report.
func ConditionNames() []string {
	var names []string
	for _, c := range Conditions() {
		names = append(names, c.Name)
	}
	return names
}

// judgeSometimes asks whether each condition of [evidence.Facts.Sometimes] was met. If one was not, the verdict is
// unknown and not fail, because a run in which nothing dangerous happened proves nothing.
func judgeSometimes(d *evidence.Digest, s *evidence.Safety) evidence.Verdict {
	d.Conditions = conditionCounts(d, s)
	if len(d.Conditions) == 0 {
		return evidence.Verdict{Result: evidence.NotApplicable, Summary: "the scenario names no conditions"}
	}
	var unmet []string
	for _, c := range d.Conditions {
		if !c.Met {
			how := "it never happened that "
			condition, _ := ConditionNamed(c.Condition)
			switch {
			case c.Count == nil && condition.Tokens && !d.Facts.Tokens:
				how = "without tokens it is not known whether "
			case c.Count == nil:
				how = "it could not be measured whether "
			}
			unmet = append(unmet, fmt.Sprintf("%s: %s%s", c.Condition, how, c.Means))
		}
	}
	v := evidence.Verdict{Count: int64(len(unmet))}
	if len(unmet) > 0 {
		v.Setf(evidence.Unknown, "%s", strings.Join(unmet, "; "))
	} else {
		v.Setf(evidence.Pass, "%s met", evidence.Count(int64(len(d.Conditions)), "condition was", "conditions were"))
	}
	return v
}

// conditionCounts counts the conditions that the scenario names, in the order of the table. A name that the table
// lacks comes last and is not met.
func conditionCounts(d *evidence.Digest, s *evidence.Safety) []evidence.ConditionCount {
	all := []evidence.ConditionCount{}
	for _, c := range Conditions() {
		if slices.Contains(d.Facts.Sometimes, c.Name) {
			n := c.count(d, s)
			all = append(all, evidence.ConditionCount{Condition: c.Name, Means: c.Means, Met: n != nil && *n > 0, Count: n})
		}
	}
	for _, name := range d.Facts.Sometimes {
		if _, known := ConditionNamed(name); !known {
			all = append(all, evidence.ConditionCount{Condition: name, Means: "an unknown condition was met"})
		}
	}
	return all
}

// contendedHandOffs counts grants to clients that had asked before another client released the lock, and got it after
// that.
func contendedHandOffs(d *evidence.Digest, _ *evidence.Safety) *int64 {
	n := new(int64)
	for _, l := range d.Locks {
		var last *history.Acquisition // of those released so far
		for _, a := range l.Grants {
			if last != nil && last.Client != a.Client && last.ReleaseInvoked != history.None &&
				a.Invoked+d.Apart(a.Process, last.Process) < last.ReleaseInvoked && last.ReleaseInvoked <= a.Returned {
				*n++
			}
			last = a
		}
	}
	return n
}

// sharedHolds counts grants during which another client held the same lock in a mode that allows it.
func sharedHolds(d *evidence.Digest, _ *evidence.Safety) *int64 {
	n := new(int64)
	for _, l := range d.Locks {
		var last *history.Acquisition // of the shared holds so far, the one that ends last
		for _, a := range l.Grants {
			if history.Exclusive(a.Mode) {
				continue
			}
			if last != nil && last.Mode == a.Mode && last.Client != a.Client &&
				d.BelievedUntil(last) > a.Returned+d.Apart(a.Process, last.Process) {
				*n++
			}
			if last == nil || d.BelievedUntil(a) > d.BelievedUntil(last) {
				last = a
			}
		}
	}
	return n
}

// holdsMetFaults counts the verified faults during which a client that they could affect held a lock.
func holdsMetFaults(d *evidence.Digest, _ *evidence.Safety) *int64 {
	return metFaults(d, func(a *history.Acquisition) (from, until int64) { return a.Returned, d.BelievedUntil(a) },
		(*history.Acquisition).Granted)
}

// waitsMetFaults counts the verified faults during which a client that they could affect waited for a lock.
func waitsMetFaults(d *evidence.Digest, _ *evidence.Safety) *int64 {
	return metFaults(d, func(a *history.Acquisition) (from, until int64) {
		return a.Invoked, history.Earliest(d.End, a.Returned, a.Died)
	}, func(*history.Acquisition) bool { return true })
}

// metFaults counts the verified faults that were in force during the span of an acquisition, of those that which
// names. A fault of clients' hosts only affects the clients there, any other may affect every client.
func metFaults(d *evidence.Digest, span func(*history.Acquisition) (from, until int64),
	which func(*history.Acquisition) bool,
) *int64 {
	n := new(int64)
	for _, f := range d.Faults {
		if !f.Certain() {
			continue
		}
		ofClients := slices.ContainsFunc(f.Targets, func(host string) bool { return d.ClientHosts[history.HostOf(host)] })
		begun, over := f.Began(), f.Healed
		if f.Trigger == nil {
			begun = f.Injected
		}
		if over == history.None {
			over = f.Seen()
		}
		for i := range d.Acquisitions {
			a := &d.Acquisitions[i]
			from, until := span(a)
			if which(a) && from+d.Slack() <= over && begun+d.Slack() <= until && (!ofClients || f.HitsClient(a)) {
				*n++
				break
			}
		}
	}
	return n
}

// holdsLost counts the clients' notices that they had lost a hold, one for each hold: when they were told, or when
// their call of release was.
func holdsLost(d *evidence.Digest, _ *evidence.Safety) *int64 {
	n := new(int64)
	for i := range d.Acquisitions {
		a := &d.Acquisitions[i]
		if a.Lost != history.None || a.ReleaseReturned != history.None && a.ReleaseOutcome == history.Fail {
			*n++
		}
	}
	return n
}

// guardRefusals counts the accesses that their client's guard did not allow.
func guardRefusals(d *evidence.Digest, _ *evidence.Safety) *int64 {
	n := new(int64)
	for _, e := range d.Events.All() {
		if e.Kind == history.Fail && e.Process == history.HostOf(e.Client) && e.Access().GivenUp() {
			*n++
		}
	}
	return n
}

// staleAccesses counts the outdated accesses that were attempted.
func staleAccesses(_ *evidence.Digest, s *evidence.Safety) *int64 {
	if s.StaleAccepted == nil || s.StaleRejected == nil {
		return nil
	}
	n := *s.StaleAccepted + *s.StaleRejected
	return &n
}
