package evidence

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

	Harms Harms `json:"-"` // of the faults that explain what was found; nil if nothing was judged
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

// Setf sets the result and, as [fmt.Sprintf] renders it, the summary.
func (v *Verdict) Setf(r Result, format string, args ...any) {
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

// Adopt takes over the counters that were measured. It copies them, because a counter that is part of all that a check
// knows would keep that in memory.
func (s *Safety) Adopt(of *Safety) {
	to, from := reflect.ValueOf(s).Elem(), reflect.ValueOf(of).Elem()
	for i := range from.NumField() {
		if n, _ := from.Field(i).Interface().(*int64); n != nil {
			to.Field(i).Set(reflect.ValueOf(new(*n)))
		}
	}
}

// MaxFindings bounds the findings of one kind that a verdict keeps. Counts include all of them.
const MaxFindings = 100

// Harm is what the checks put down to one fault. Unlike findings, these counts have no upper limit.
type Harm struct {
	// Overlaps are the pairs of holds that clients believed in at once because of the fault.
	Overlaps int64 `json:"overlaps"`
	// StaleAccepted are the outdated accesses that the resource accepted; of a lock without tokens, the uses of the
	// resource at once.
	StaleAccepted int64 `json:"stale_accepted"`
	// LostUpdates are the acknowledged updates that were written over.
	LostUpdates int64 `json:"lost_updates"`
	// GivenUpValid says that a fault with a trigger made its victim give up the hold although the servers still had it.
	// It is nil if the servers' transactions do not tell.
	GivenUpValid *bool `json:"given_up_valid"`
	// Unsure counts overlaps and damages that the fault may have caused. The other counts leave them out.
	Unsure int64 `json:"unsure"`
}

// Harms are the harm of faults.
type Harms map[harmed]*Harm

// A harmed is a client that lost a hold because of a fault.
type harmed struct{ Fault, Client string }

// Of returns what is to be counted for an explanation: nothing if no fault is part of it.
func (h Harms) Of(why Explanation) *Harm {
	if why.Fault == nil {
		return &Harm{}
	}
	by := harmed{why.Fault.ID, why.Loser}
	m := h[by]
	if m == nil {
		m = &Harm{}
		h[by] = m
	}
	return m
}

// Overlap counts an overlap.
func (h Harms) Overlap(why Explanation) {
	switch m := h.Of(why); {
	case why.Unsure():
		m.Unsure++
	case why.Explained():
		m.Overlaps++
	}
}

// Add adds another harm's counts.
func (h *Harm) Add(other *Harm) {
	h.Overlaps += other.Overlaps
	h.StaleAccepted += other.StaleAccepted
	h.LostUpdates += other.LostUpdates
	h.Unsure += other.Unsure
}

// ZxidWords renders the numbers of transactions, each of them once.
func ZxidWords(all []int64) []string {
	var words []string
	for _, z := range all {
		if w := Zxid(z); z != 0 && !slices.Contains(words, w) {
			words = append(words, w)
		}
	}
	return words
}
