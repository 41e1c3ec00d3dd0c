// Package counters has the numbers of the safety block of result.json.
package counters

import "locklab/harness/check/evidence"

// A Counter is a number of the safety block. To add one, add its field to [evidence.Safety] and its line to [All].
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
	Of func(*evidence.Safety) *int64

	_ struct{}
}

// The counters that code outside this package names.
const (
	Overlaps        = "overlaps"
	StaleAccepted   = "stale_accepted"
	StaleRejected   = "stale_rejected"
	LateAccepted    = "late_accepted"
	LostUpdates     = "lost_updates"
	LostOfOthers    = "lost_updates_of_others"
	Untold          = "stale_writes_untold"
	FalseRejections = "false_rejections"
	TornReads       = "torn_reads"
	Crowded         = "crowded"
)

// All returns all counters, in the order of the safety block.
func All() []Counter {
	return []Counter{
		{Name: "unbacked_grants", Means: "grants that no eligible znode of their own backed at the servers",
			Check: evidence.ServiceExclusion, Of: func(s *evidence.Safety) *int64 { return s.UnbackedGrants }},
		{Name: "outlived_znodes", Means: "holds that outlived their znodes without an explanation",
			Check: evidence.ServiceExclusion, Of: func(s *evidence.Safety) *int64 { return s.OutlivedZnodes }},
		{Name: "lost_unreported", Means: "releases that returned ok although the servers had already ended the hold",
			Check: evidence.ServiceExclusion, Of: func(s *evidence.Safety) *int64 { return s.LostUnreported }},
		{Name: Overlaps, Means: "pairs of clients that believed at once that they held a lock",
			Check: evidence.BeliefExclusion, Showable: true, Of: func(s *evidence.Safety) *int64 { return s.Overlaps }},
		{Name: "overlaps_unexplained", Means: "overlaps that no fault explains",
			Check: evidence.BeliefExclusion, Of: func(s *evidence.Safety) *int64 { return s.OverlapsUnexplained }},
		{Name: "max_overlap_ns", Means: "the longest overlap in nanoseconds",
			Check: evidence.BeliefExclusion, Of: func(s *evidence.Safety) *int64 { return s.MaxOverlapNs }},
		{Name: StaleAccepted, Means: "accesses that were accepted with an outdated token",
			Check: evidence.Effect, Showable: true, Of: func(s *evidence.Safety) *int64 { return s.StaleAccepted }},
		{Name: StaleRejected, Means: "accesses that were refused because of an outdated token",
			Check: evidence.Effect, Showable: true, Of: func(s *evidence.Safety) *int64 { return s.StaleRejected }},
		{Name: Untold, Means: "outdated writes, accepted or refused, that were invoked before their client learned " +
			"of its loss", Check: evidence.Effect, Of: func(s *evidence.Safety) *int64 { return s.StaleWritesUntold }},
		{Name: LateAccepted, Means: "accesses that were accepted after their hold had ended, with no outdated token",
			Check: evidence.Effect, Of: func(s *evidence.Safety) *int64 { return s.LateAccepted }},
		{Name: LostUpdates, Means: "acknowledged updates that are missing in the end",
			Check: evidence.Effect, Showable: true, Of: func(s *evidence.Safety) *int64 { return s.LostUpdates }},
		{Name: LostOfOthers, Means: "those of them that belong to clients that were not outdated",
			Check: evidence.Effect, Of: func(s *evidence.Safety) *int64 { return s.LostUpdatesOfOthers }},
		{Name: "damage_unexplained", Means: "damages at the resource that belong to no overlap that a fault explains",
			Check: evidence.Effect, Of: func(s *evidence.Safety) *int64 { return s.DamageUnexplained }},
		{Name: FalseRejections, Means: "accesses that were refused although their token was the newest",
			Check: evidence.Effect, Of: func(s *evidence.Safety) *int64 { return s.FalseRejections }},
		{Name: TornReads, Means: "reads that saw two values under one read hold",
			Check: evidence.Effect, Showable: true, Of: func(s *evidence.Safety) *int64 { return s.TornReads }},
		{Name: Crowded, Means: "uses that began while more permits than there are were in use",
			Check: evidence.Effect, Showable: true, Of: func(s *evidence.Safety) *int64 { return s.Crowded }},
	}
}

// Showable returns the names of the counters that a scenario's shown may name, in the order of the safety block.
func Showable() []string {
	var names []string
	for _, c := range All() {
		if c.Showable {
			names = append(names, c.Name)
		}
	}
	return names
}
