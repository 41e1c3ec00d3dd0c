package evidence

// A Check is one question that [check.Run] asks of a run. To add one, write a file with its definition and its judge,
// and name the definition in [check.All]: help, schema, documentation and report read that list.
type Check struct {
	// Name is what a scenario's expect, verdicts.json and result.json call the check.
	Name string
	// Asks is the question in full, for help and documentation.
	Asks string
	// Subject is what the check is about, in the words of the report's headline.
	Subject string
	// OfRun says that the check judges whether the run was worth anything, and not the lock. A scenario cannot
	// expect such a check to fail.
	OfRun bool
	// Default returns what is expected of the check where the scenario says nothing; nil means [ExpectPass].
	Default func(*Facts) Expectation

	// Judge fills in everything of the verdict except its name and expectation, and the safety counters that this
	// check counts. Judges run at the same time, so they must not change the digest, which they share.
	Judge func(*Digest, *Safety) Verdict
	// ReadsCounters says that judge reads the counters of the checks before it in [check.All]. It runs when all others
	// have ended, and by itself.
	ReadsCounters bool

	_ struct{}
}

// The names of the checks.
const (
	ServiceExclusion = "service-exclusion"
	BeliefExclusion  = "belief-exclusion"
	Effect           = "effect"
	Tokens           = "tokens"
	Fairness         = "fairness"
	Liveness         = "liveness"
	ServiceLiveness  = "service-liveness"
	Assumptions      = "assumptions"
	Sometimes        = "sometimes"
	Shown            = "shown"
)
