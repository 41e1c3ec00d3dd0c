package check

import (
	"slices"
	"time"

	"locklab/harness/check/effect"
	"locklab/harness/check/evidence"
	"locklab/harness/history"
)

// The types of the packages below that other packages need.
type (
	ConditionCount = evidence.ConditionCount
	Contradiction  = evidence.Contradiction
	Counter        = evidence.Counter
	Expectation    = evidence.Expectation
	Expiry         = evidence.Expiry
	Facts          = evidence.Facts
	FaultNature    = evidence.FaultNature
	FaultRecord    = evidence.FaultRecord
	Fences         = effect.Fences
	Finding        = evidence.Finding
	Harm           = evidence.Harm
	HolderHarm     = evidence.HolderHarm
	Kind           = evidence.Kind
	Look           = history.Look
	PlannedFault   = evidence.PlannedFault
	Resolution     = evidence.Resolution
	Result         = evidence.Result
	Safety         = evidence.Safety
	ServerHold     = evidence.ServerHold
	ServerHolds    = evidence.ServerHolds
	ServerLog      = evidence.ServerLog
	Unserved       = evidence.Unserved
	Verdict        = evidence.Verdict
)

// The constants of the packages below that other packages need.
const (
	Assumptions               = evidence.Assumptions
	BeliefExclusion           = evidence.BeliefExclusion
	CauseAdministrator        = evidence.CauseAdministrator
	CauseKill                 = evidence.CauseKill
	CauseNone                 = evidence.CauseNone
	CommitsNothing            = history.CommitsNothing
	CountCrowded              = evidence.CountCrowded
	CountLostUpdates          = evidence.CountLostUpdates
	CountOverlaps             = evidence.CountOverlaps
	CountStaleAccepted        = evidence.CountStaleAccepted
	CountStaleRejected        = evidence.CountStaleRejected
	CountTornReads            = evidence.CountTornReads
	Effect                    = evidence.Effect
	ExpectAny                 = evidence.ExpectAny
	ExpectFail                = evidence.ExpectFail
	ExpectPass                = evidence.ExpectPass
	Fail                      = evidence.Fail
	Fairness                  = evidence.Fairness
	GuardFencing              = evidence.GuardFencing
	GuardNone                 = evidence.GuardNone
	GuardZKMulti              = evidence.GuardZKMulti
	KindGrantAfterZnode       = evidence.KindGrantAfterZnode
	KindGrantBeforeEligible   = evidence.KindGrantBeforeEligible
	KindGrantOfAnotherSession = evidence.KindGrantOfAnotherSession
	KindGrantSharesZnode      = evidence.KindGrantSharesZnode
	KindGrantShortOfLeases    = evidence.KindGrantShortOfLeases
	KindGrantWithoutZnode     = evidence.KindGrantWithoutZnode
	KindLostUpdate            = evidence.KindLostUpdate
	KindOverlap               = evidence.KindOverlap
	KindStaleAccepted         = evidence.KindStaleAccepted
	KindStaleRejected         = evidence.KindStaleRejected
	Liveness                  = evidence.Liveness
	NotApplicable             = evidence.NotApplicable
	Pass                      = evidence.Pass
	ServiceExclusion          = evidence.ServiceExclusion
	ServiceLiveness           = evidence.ServiceLiveness
	Tokens                    = evidence.Tokens
	Unknown                   = evidence.Unknown
)

// Counters is [evidence.Counters].
func Counters() []Counter { return evidence.Counters() }

// Showable is [evidence.Showable].
func Showable() []string { return evidence.Showable() }

// StallBound is [evidence.StallBound].
func StallBound(timeout, tick time.Duration) time.Duration { return evidence.StallBound(timeout, tick) }

// Standstill is [evidence.Standstill].
func Standstill(tick time.Duration) time.Duration { return evidence.Standstill(tick) }

// Unserveds is [evidence.Unserveds].
func Unserveds(looks []Look) []Unserved { return evidence.Unserveds(looks) }

// Zxid is [evidence.Zxid].
func Zxid(z int64) string { return evidence.Zxid(z) }

// A Report is everything that Run found.
type Report struct {
	Verdict  evidence.Result        `json:"verdict"` // of all checks together
	Checks   []evidence.Verdict     `json:"checks"`  // in a fixed order
	Safety   evidence.Safety        `json:"safety"`
	Faults   []evidence.FaultRecord `json:"faults"` // in order of injection, those never injected last
	Warnings []string               `json:"warnings"`

	// Sometimes says how often the conditions were met that the scenario names.
	Sometimes []evidence.ConditionCount `json:"sometimes"`

	// Resolved says what became of operations of unknown outcome, by the servers' transactions.
	Resolved []evidence.Resolution `json:"resolved,omitempty"`

	// Held says what the servers granted, for pictures; nil if their logs were not read.
	ServerHolds *evidence.ServerHolds `json:"-"`
}

// Overall is the run's result: Pass if every check came out as expected.
func (r *Report) Overall() evidence.Result {
	worst := evidence.Pass
	for i := range r.Checks {
		switch r.Checks[i].Outcome() {
		case evidence.Fail:
			return evidence.Fail
		case evidence.Unknown:
			worst = evidence.Unknown
		}
	}
	return worst
}

// Check returns the verdict of that name, or nil.
func (r *Report) Check(name string) *evidence.Verdict {
	for i := range r.Checks {
		if r.Checks[i].Name == name {
			return &r.Checks[i]
		}
	}
	return nil
}

// Found returns the first finding of one of these kinds with which the check of that name failed, or nil. cause is the
// kind of the fault that has to explain the finding; if it is empty, nothing may explain it.
func (r *Report) Found(name string, kinds []string, cause string) *evidence.Finding {
	v := r.Check(name)
	if v == nil || v.Result != evidence.Fail {
		return nil
	}
	i := slices.IndexFunc(v.Findings, func(f evidence.Finding) bool {
		return slices.Contains(kinds, string(f.Kind)) && f.Explained == (cause != "") && (cause == "" || f.Cause == cause)
	})
	if i < 0 {
		return nil
	}
	return &v.Findings[i]
}
