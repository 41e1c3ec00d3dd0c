package rundir

import "locklab/harness/untrusted"

// printable makes the texts of a run directory safe to show. A run directory can come from another machine, and what
// clients, servers and a lock's command recorded in it ends up on terminals, in pictures and in files that other
// programs parse. So none of its characters may have an effect other than being seen.
//
// The events are made so as they are read.
func (r *Run) printable() {
	untrusted.Lines(&r.Env)
	for _, all := range []*map[string]map[string]float64{&r.CountersAtStart, &r.CountersAtEnd} {
		untrusted.Lines(all)
	}
}
