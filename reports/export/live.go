package export

import (
	"locklab/harness/watch"
)

// LiveType is the media type of [Live].
const LiveType = "text/plain; version=0.0.4; charset=utf-8"

// Live writes the progress of a run that lasts for Prometheus to scrape. Counters begin with the run. What cannot be
// said while the run lasts has no sample.
func Live(p watch.Progress) []byte {
	var x exposition
	run := label{"scenario", p.Scenario}
	gauge := func(name, help string, v float64) { x.metric("locklab_"+name, "gauge", help, v, run) }
	counter := func(name, help string, n int) {
		if n >= 0 { // below 0 if it cannot be said
			x.metric("locklab_"+name+"_total", "counter", help, float64(n), run)
		}
	}
	x.metric("locklab_phase_info", "gauge", "The phase that the run is in.", 1, run, label{"phase", string(p.Phase)})
	gauge("elapsed_seconds", "Time since the clients began.", p.Elapsed.Seconds())
	gauge("clients", "Clients that were planned.", float64(p.Clients))
	gauge("clients_connected", "Clients that have a session.", float64(p.Connected))
	gauge("clients_waiting", "Clients that wait for a lock.", float64(p.Waiting))
	gauge("holds", "Holds that clients believe in.", float64(p.Holding))
	gauge("longest_wait_seconds", "The longest of the waits so far that have not ended.", p.LongestWait.Seconds())
	counter("acquisitions", "Locks granted.", p.Acquired)
	if p.P50 > 0 {
		x.head("locklab_recent_acquire_seconds", "gauge", "Quantiles of the acquisitions of the last second.")
		x.sample("locklab_recent_acquire_seconds", p.P50.Seconds(), run, label{"q", "0.5"})
		if p.P99 > 0 {
			x.sample("locklab_recent_acquire_seconds", p.P99.Seconds(), run, label{"q", "0.99"})
		}
	}
	gauge("faults_active", "Faults in force.", float64(len(p.Faults)))
	counter("overlaps_seen", "Pairs of clients that were seen to believe at once that they held a lock.", p.Overlaps)
	counter("stale_accepted", "Accesses accepted although a later holder had followed.", p.Stale)
	counter("stale_rejected", "Accesses refused because a later holder had followed.", p.Refused)
	if p.Lost >= 0 { // it can fall while the records of clients arrive out of order
		gauge("lost_updates", "Updates that seem to be lost.", float64(p.Lost))
	}
	return x.Bytes()
}
