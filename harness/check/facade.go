package check

import (
	"time"

	"locklab/harness/check/effect"
	"locklab/harness/check/evidence"
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
	Look           = evidence.Look
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
	CommitsNothing            = evidence.CommitsNothing
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
