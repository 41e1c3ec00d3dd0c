package check

import (
	"fmt"
	"reflect"
	"slices"

	"locklab/harness/history"
)

// A Result is the outcome of a check.
type Result string

// The results. Among several, Fail beats Unknown beats Pass; NotApplicable does not count.
const (
	Pass          Result = "pass"
	Fail          Result = "fail"
	Unknown       Result = "unknown"
	NotApplicable Result = "n/a"
)

// A Report is everything that Run found.
type Report struct {
	Verdict  Result        `json:"verdict"` // of all checks together
	Checks   []Verdict     `json:"checks"`  // in a fixed order
	Safety   Safety        `json:"safety"`
	Faults   []FaultRecord `json:"faults"` // in order of injection, those never injected last
	Warnings []string      `json:"warnings"`

	// Sometimes says how often the conditions were met that the scenario names.
	Sometimes []ConditionCount `json:"sometimes"`

	// Resolved says what became of operations of unknown outcome, by the servers' transactions.
	Resolved []Resolution `json:"resolved,omitempty"`

	// Held says what the servers granted, for pictures; nil if their logs were not read.
	ServerHolds *ServerHolds `json:"-"`
}

// Overall is the run's result: Pass if every check came out as expected.
func (r *Report) Overall() Result {
	worst := Pass
	for i := range r.Checks {
		switch r.Checks[i].Outcome() {
		case Fail:
			return Fail
		case Unknown:
			worst = Unknown
		}
	}
	return worst
}

// Check returns the verdict of that name, or nil.
func (r *Report) Check(name string) *Verdict {
	for i := range r.Checks {
		if r.Checks[i].Name == name {
			return &r.Checks[i]
		}
	}
	return nil
}

// Found returns the first finding of one of these kinds with which the check of that name failed, or nil. cause is the
// kind of the fault that has to explain the finding; if it is empty, nothing may explain it.
func (r *Report) Found(name string, kinds []string, cause string) *Finding {
	v := r.Check(name)
	if v == nil || v.Result != Fail {
		return nil
	}
	i := slices.IndexFunc(v.Findings, func(f Finding) bool {
		return slices.Contains(kinds, string(f.Kind)) && f.Explained == (cause != "") && (cause == "" || f.Cause == cause)
	})
	if i < 0 {
		return nil
	}
	return &v.Findings[i]
}

// A Verdict is what one check found.
type Verdict struct {
	Name     string      `json:"name"`
	Expected Expectation `json:"expected"`
	Result   Result      `json:"result"`
	Count    int64       `json:"count"` // of what the check counts, including what is not in Findings
	Summary  string      `json:"summary"`

	// Violation says that something is broken: a promise of the recipe or the guard, whatever the scenario expects,
	// or a check that was expected to pass.
	Violation bool      `json:"violation"`
	Findings  []Finding `json:"findings,omitempty"` // the first of each kind; Count has them all

	harms harms // of the faults that explain what was found; nil if nothing was judged
}

// Outcome compares what was found with what was expected: Pass if it came out as expected, Fail for a violation,
// Unknown if it was not shown. A check that does not apply passes, unless it was expected to fail: then the run cannot
// have shown what it set out to show.
func (v *Verdict) Outcome() Result {
	switch {
	case v.Violation:
		return Fail
	case v.Expected == ExpectAny:
		return Pass
	case v.Expected == ExpectFail && v.Result == Fail:
		return Pass
	case v.Expected == ExpectFail:
		return Unknown
	case v.Result == NotApplicable:
		return Pass
	}
	return v.Result
}

// setf sets the result and, as [fmt.Sprintf] renders it, the summary.
func (v *Verdict) setf(r Result, format string, args ...any) {
	v.Result, v.Summary = r, fmt.Sprintf(format, args...)
}

// A Finding is one thing that a check found, with the events that prove it.
type Finding struct {
	Kind      Kind     `json:"kind"` // overlap, stale-accepted, lost-update, …
	Lock      string   `json:"lock,omitempty"`
	At        int64    `json:"at_ns"` // on the run's base
	Until     int64    `json:"until_ns"`
	Clients   []string `json:"clients,omitempty"` // in an overlap, the older holder first
	Tokens    []int64  `json:"tokens,omitempty"`  // of the Clients, in their order
	Cause     string   `json:"cause,omitempty"`   // the kind of the fault that explains it, or "none"
	Fault     string   `json:"fault,omitempty"`   // that fault's id
	Explained bool     `json:"explained"`
	// Untold says of a stale write that it was certainly invoked before its client learned of the loss.
	Untold bool   `json:"untold,omitempty"`
	Text   string `json:"text"`
	// Zxids are the servers' transactions that prove it.
	Zxids  []string        `json:"zxids,omitempty"`
	Events []history.Event `json:"events,omitempty"`
	// Numbers are the line numbers of Events in history.jsonl.
	Numbers []int `json:"event_numbers,omitempty"`
}

// Causes other than the kind of a fault.
const (
	// CauseNone says that nothing explains it.
	CauseNone = "none"
	// CauseKill says that a process was ended.
	CauseKill = "kill"
	// CauseServer says that servers that contradict themselves explain it.
	CauseServer = "server"
	// CauseSlowClient says that a client stood still by itself.
	CauseSlowClient = "slow-client"
	// CauseUnguarded says that a client without a guard used what it knew that it had lost.
	CauseUnguarded = "unguarded"
	// CauseAdministrator says that somebody who is not a client ended a session or deleted znodes.
	CauseAdministrator = "administrator"
)

// Safety is the safety block of result.json; nil means that a number was not measured. See [Counters].
type Safety struct {
	UnbackedGrants      *int64 `json:"unbacked_grants"`
	OutlivedZnodes      *int64 `json:"outlived_znodes"`      // by holds
	LostUnreported      *int64 `json:"lost_unreported"`      // releases that succeeded after their hold had ended
	Overlaps            *int64 `json:"overlaps"`             // pairs of holds believed at once
	OverlapsUnexplained *int64 `json:"overlaps_unexplained"` // nil if the recipe promises no exclusion
	MaxOverlapNs        *int64 `json:"max_overlap_ns"`
	StaleAccepted       *int64 `json:"stale_accepted"`
	StaleRejected       *int64 `json:"stale_rejected"`
	StaleWritesUntold   *int64 `json:"stale_writes_untold"`
	LateAccepted        *int64 `json:"late_accepted"`
	LostUpdates         *int64 `json:"lost_updates"`
	LostUpdatesOfOthers *int64 `json:"lost_updates_of_others"` // nil if there are no tokens, or the record does not tell
	DamageUnexplained   *int64 `json:"damage_unexplained"`     // nil if the recipe promises no exclusion, or with zk-multi
	FalseRejections     *int64 `json:"false_rejections"`
	TornReads           *int64 `json:"torn_reads"` // nil if no client read under a read hold
	Crowded             *int64 `json:"crowded"`    // uses beyond the permits; nil without permits
}

// adopt takes over the counters that were measured. It copies them, because a counter that is part of all that a check
// knows would keep that in memory.
func (s *Safety) adopt(of *Safety) {
	to, from := reflect.ValueOf(s).Elem(), reflect.ValueOf(of).Elem()
	for i := range from.NumField() {
		if n, _ := from.Field(i).Interface().(*int64); n != nil {
			to.Field(i).Set(reflect.ValueOf(new(*n)))
		}
	}
}

// A FaultRecord is one fault as it really happened, from the harness's events.
type FaultRecord struct {
	ID           string `json:"id"`
	Kind         string `json:"kind"`
	Target       string `json:"target"` // hosts, separated by commas
	RequestedNs  *int64 `json:"requested_ns"`
	InjectedNs   *int64 `json:"injected_ns"` // nil if it never was injected
	Verified     bool   `json:"verified"`
	HealedNs     *int64 `json:"healed_ns"`
	HealVerified bool   `json:"heal_verified"`
	Unsupported  bool   `json:"unsupported,omitempty"` // the machine could not do it
	Detail       string `json:"detail,omitempty"`      // what went wrong
	// Done says to which znodes or sessions it was done, or which version of ZooKeeper came in the place of which; empty
	// for faults that harm only hosts.
	Done string `json:"done,omitempty"`
	Harm *Harm  `json:"harm,omitempty"` // nil if it never was injected, or if that could not be judged
	// Holders are the clients that held a lock when the fault struck the server that they were connected to.
	Holders []HolderHarm `json:"holders,omitempty"`
}
