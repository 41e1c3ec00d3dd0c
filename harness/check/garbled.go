package check

import (
	"fmt"
	"math"

	"locklab/harness/check/evidence"
	"locklab/harness/check/progress"
	"locklab/harness/check/spans"
	"locklab/harness/history"
)

// findContradictions says how the record contradicts itself, so that the acquisitions put together from it cannot be
// trusted.
func findContradictions(d *evidence.Digest) []string {
	reasons, err := evidence.Safely(func() []string {
		all := misnumbered(d)
		for _, found := range []string{outOfOrder(d), fromTheDead(d), ungranted(d)} {
			if found != "" {
				all = append(all, found)
			}
		}
		return all
	})
	if err != nil {
		return []string{fmt.Sprintf("its order could not be read: %v", err)}
	}
	return reasons
}

// misnumbered says whether there is a result of a call that is not recorded, two calls under one number, or two
// releases of one acquisition.
func misnumbered(d *evidence.Digest) []string {
	var orphans, twice int64
	again := int64(d.Events.Count(history.OpRelease, history.Invoke))
	for _, kind := range [...]history.Kind{history.OK, history.Fail, history.Info} {
		orphans += int64(d.Events.Count(history.OpAcquire, kind))
	}
	for i := range d.Acquisitions {
		a := &d.Acquisitions[i]
		first := a
		if a.ReleaseInvoked != history.None {
			again--
		}
		for earlier := range history.AcquisitionsOf(d.Events, a.Client, a.Lock, a.N) {
			first = earlier
		}
		switch {
		case first != a:
			twice++ // so nothing that returned was its own
		case a.Returned != history.None:
			orphans--
		}
	}
	var reasons []string
	if orphans > 0 {
		reasons = append(reasons, evidence.Count(orphans, "acquire", "acquires")+" returned without a recorded call")
	}
	if twice > 0 {
		reasons = append(reasons, evidence.Count(twice, "acquire", "acquires")+" had a number that was used before")
	}
	if again > 0 {
		reasons = append(reasons, evidence.Count(again, "release", "releases")+" of nothing, or of what was released before")
	}
	return reasons
}

// outOfOrder says whether a client released what it had not been granted yet, or called again before its call had an
// end.
func outOfOrder(d *evidence.Digest) string {
	last := map[string]*history.Acquisition{} // by client
	for i := range d.Acquisitions {
		a := &d.Acquisitions[i]
		if a.ReleaseInvoked != history.None && (a.Returned == history.None || a.ReleaseInvoked < a.Returned) {
			return fmt.Sprintf("%s released %s at %s, before it was granted it", a.Client, a.Lock,
				evidence.Seconds(a.ReleaseInvoked))
		}
		if b := last[a.Client]; b != nil && b.Returned == history.None && b.Died == history.None && b.N != a.N &&
			b.Process == a.Process {
			return fmt.Sprintf("%s asked for %s at %s, and nothing says how its call for %s at %s had ended", a.Client, a.Lock,
				evidence.Seconds(a.Invoked), b.Lock, evidence.Seconds(b.Invoked))
		}
		last[a.Client] = a
	}
	return ""
}

// calls are what a client process does by itself.
var calls = []history.Op{history.OpAcquire, history.OpRelease, history.OpEnter, history.OpRead, history.OpWrite,
	history.OpExit}

// resumes is how long before the heal of a pause is recorded its process may run again.
const resumes = progress.OneSecond

// pause is the kind of a fault that stops all threads of a process.
const pause = "pause"

// fromTheDead says whether a process called for something after it had exited, or more than once while it was paused.
func fromTheDead(d *evidence.Digest) string {
	dead, paused := deadTimes(d), map[string][]spans.Span{}
	for _, f := range d.Faults {
		if f.Kind == pause && f.Certain() && f.Until()-resumes > f.Verified+d.Slack() {
			for _, host := range f.Targets {
				if d.ClientHosts[host] {
					paused[host] = append(paused[host], spans.Span{From: f.Verified + d.Slack(),
						Until: min(f.Until()-resumes, startedAfter(d, host, f.Verified))})
				}
			}
		}
	}
	if len(dead)+len(paused) == 0 {
		return ""
	}
	type stop struct {
		process string
		spans.Span
	}
	during := map[stop]int{}
	for _, e := range d.Events.Of(calls...) {
		if e.Kind != history.Invoke {
			continue
		}
		if dead[e.Process].Touches(e.At, e.At) {
			return fmt.Sprintf("%s called for %s at %s, when its process had exited", e.Client, e.Op, evidence.Seconds(e.At))
		}
		for _, p := range paused[e.Process] {
			if p.From <= e.At && e.At < p.Until {
				at := stop{e.Process, p}
				if during[at]++; during[at] > 1 {
					return fmt.Sprintf("%s called for %s at %s, when its process was paused", e.Client, e.Op, evidence.Seconds(e.At))
				}
			}
		}
	}
	return ""
}

// startedAfter is when a process was started next after an instant, which nothing has stopped yet; the end of time if
// it was not.
func startedAfter(d *evidence.Digest, process string, at int64) int64 {
	for _, e := range d.Events.Of(history.OpProcess) {
		if e.Process == process && e.At > at && e.ProcessIs(history.ProcessStarted) {
			return e.At
		}
	}
	return math.MaxInt64
}

// deadTimes are when processes were not running for certain: from their exit until they were started again.
func deadTimes(d *evidence.Digest) map[string]spans.List {
	all := map[string]spans.List{}
	for _, e := range d.Events.Of(history.OpProcess) {
		dead := all[e.Process]
		n := len(dead) - 1
		switch exited := e.ProcessIs(history.ProcessExited); {
		case n >= 0 && dead[n].Until == d.End && !exited:
			dead[n].Until = e.At - d.Slack()
		case exited && (n < 0 || dead[n].Until != d.End):
			all[e.Process] = append(dead, spans.Span{From: e.At + d.Slack(), Until: d.End})
		}
	}
	return all
}

// ungranted says whether a client used the resource under an acquire that had failed, or had not returned yet. Clients
// record each answer before they act on it. A client that was restarted may use a number again.
func ungranted(d *evidence.Digest) string {
	for _, e := range d.Events.Of(calls[2:]...) {
		if e.Process != history.HostOf(e.Client) {
			continue // the resource's record, by its own clock
		}
		var under *history.Acquisition
		for a := range history.AcquisitionsOf(d.Events, e.Client, e.Lock, e.Acq) {
			if under = a; a.Granted() && a.Returned <= e.At {
				under = nil
				break
			}
		}
		if under != nil {
			how := "before its acquire had returned"
			if under.Outcome == history.Fail && under.Returned <= e.At {
				how = "under an acquire that had failed"
			}
			return fmt.Sprintf("%s used the resource of %s at %s, %s", e.Client, e.Lock, evidence.Seconds(e.At), how)
		}
	}
	return ""
}
