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

// A Counter is a number of the safety block. To add one, add its field to [Safety] and its line to [Counters].
type Counter struct {
	// Name is the counter's key in result.json, and in a scenario's shown.
	Name string
	// Means says what is counted.
	Means string
	// Check is the name of the check that counts it.
	Check string
	// Showable says that a scenario's shown may ask for a least value.
	Showable bool
	// Of returns the counter's value, nil if it was not measured.
	Of func(*Safety) *int64

	_ struct{}
}

// The counters that code outside this package names.
const (
	CountOverlaps        = "overlaps"
	CountStaleAccepted   = "stale_accepted"
	CountStaleRejected   = "stale_rejected"
	CountLateAccepted    = "late_accepted"
	CountLostUpdates     = "lost_updates"
	CountLostOfOthers    = "lost_updates_of_others"
	CountUntold          = "stale_writes_untold"
	CountFalseRejections = "false_rejections"
	CountTornReads       = "torn_reads"
	CountCrowded         = "crowded"
)

// Counters returns all counters, in the order of the safety block.
func Counters() []Counter {
	return []Counter{
		{Name: "unbacked_grants", Means: "grants that no eligible znode of their own backed at the servers",
			Check: ServiceExclusion, Of: func(s *Safety) *int64 { return s.UnbackedGrants }},
		{Name: "outlived_znodes", Means: "holds that outlived their znodes without an explanation",
			Check: ServiceExclusion, Of: func(s *Safety) *int64 { return s.OutlivedZnodes }},
		{Name: "lost_unreported", Means: "releases that returned ok although the servers had already ended the hold",
			Check: ServiceExclusion, Of: func(s *Safety) *int64 { return s.LostUnreported }},
		{Name: CountOverlaps, Means: "pairs of clients that believed at once that they held a lock",
			Check: BeliefExclusion, Showable: true, Of: func(s *Safety) *int64 { return s.Overlaps }},
		{Name: "overlaps_unexplained", Means: "overlaps that no fault explains",
			Check: BeliefExclusion, Of: func(s *Safety) *int64 { return s.OverlapsUnexplained }},
		{Name: "max_overlap_ns", Means: "the longest overlap in nanoseconds",
			Check: BeliefExclusion, Of: func(s *Safety) *int64 { return s.MaxOverlapNs }},
		{Name: CountStaleAccepted, Means: "accesses that were accepted with an outdated token",
			Check: Effect, Showable: true, Of: func(s *Safety) *int64 { return s.StaleAccepted }},
		{Name: CountStaleRejected, Means: "accesses that were refused because of an outdated token",
			Check: Effect, Showable: true, Of: func(s *Safety) *int64 { return s.StaleRejected }},
		{Name: CountUntold, Means: "outdated writes, accepted or refused, that were invoked before their client learned " +
			"of its loss", Check: Effect, Of: func(s *Safety) *int64 { return s.StaleWritesUntold }},
		{Name: CountLateAccepted, Means: "accesses that were accepted after their hold had ended, with no outdated token",
			Check: Effect, Of: func(s *Safety) *int64 { return s.LateAccepted }},
		{Name: CountLostUpdates, Means: "acknowledged updates that are missing in the end",
			Check: Effect, Showable: true, Of: func(s *Safety) *int64 { return s.LostUpdates }},
		{Name: CountLostOfOthers, Means: "those of them that belong to clients that were not outdated",
			Check: Effect, Of: func(s *Safety) *int64 { return s.LostUpdatesOfOthers }},
		{Name: "damage_unexplained", Means: "damages at the resource that belong to no overlap that a fault explains",
			Check: Effect, Of: func(s *Safety) *int64 { return s.DamageUnexplained }},
		{Name: CountFalseRejections, Means: "accesses that were refused although their token was the newest",
			Check: Effect, Of: func(s *Safety) *int64 { return s.FalseRejections }},
		{Name: CountTornReads, Means: "reads that saw two values under one read hold",
			Check: Effect, Showable: true, Of: func(s *Safety) *int64 { return s.TornReads }},
		{Name: CountCrowded, Means: "uses that began while more permits than there are were in use",
			Check: Effect, Showable: true, Of: func(s *Safety) *int64 { return s.Crowded }},
	}
}

// Showable returns the names of the counters that a scenario's shown may name, in the order of the safety block.
func Showable() []string {
	var names []string
	for _, c := range Counters() {
		if c.Showable {
			names = append(names, c.Name)
		}
	}
	return names
}
