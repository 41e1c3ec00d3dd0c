package rundir

import "locklab/harness/untrusted"

// printable makes the texts of a run directory safe to show. A run directory can come from another machine, and what
// clients, servers and a lock's command recorded in it ends up on terminals, in pictures and in files that other
// programs parse. So none of its characters may have an effect other than being seen.
func (r *Run) printable() {
	untrusted.Lines(&r.Env)
	for i := range r.Events {
		e := &r.Events[i]
		line(&e.Process)
		line(&e.Op)
		line(&e.Client)
		line(&e.Lock)
		line(&e.Mode)
		line(&e.Target)
		line(&e.Fault)
		line(&e.Detail)
	}
	for _, all := range []*map[string]map[string]float64{&r.CountersAtStart, &r.CountersAtEnd} {
		untrusted.Lines(all)
	}
}

// line is [untrusted.Line] of a text in place. A history has millions of texts, so none is copied unless it must be.
func line[T ~string](text *T) {
	if shown := untrusted.Line(string(*text)); shown != string(*text) {
		*text = T(shown)
	}
}
