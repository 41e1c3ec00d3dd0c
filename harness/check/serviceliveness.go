package check

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"locklab/harness/history"
)

// ServiceLiveness names the check that this file defines.
const ServiceLiveness = "service-liveness"

var serviceLivenessCheck = Check{
	Name: ServiceLiveness,
	Asks: "did the servers serve once no fault of theirs was in force, whatever the lock did: was there a leader, " +
		"were writes committed, and through each server that was up?",
	Subject: "the servers' progress",
	judge:   judgeServiceLiveness,
}

// judgeServiceLiveness asks whether servers that were up served. The harness looks at the servers when clients have had
// no answer for seconds, or when an ensemble does not recover, so a run in which nobody had to wait has no looks. Then
// the final heal says that a write was committed through each server.
//
// A lack of service is a finding if it lasted for its [Lack.Bound] while no fault of a server was in force and no
// process stood still. It counts between looks only, because nothing is known of the time before the first. It is told
// with the fault that preceded it and with the restarts that ended it, or did not.
func judgeServiceLiveness(d *digest, _ *Safety) Verdict {
	v := Verdict{}
	var doubts []string
	seen := looks(d.events)
	for _, u := range Unserveds(seen) {
		if quiet := d.serviceQuiet(u.Looks[0].At, u.last().At); quiet < int64(u.Lack.Bound()) {
			if d.endedUnserved || u.last().At == seen[len(seen)-1].At {
				doubts = append(doubts, fmt.Sprintf("%s; that is too short to tell, because only %s of it count", &u,
					length(quiet)))
			}
			continue
		}
		f := Finding{Kind: Kind(u.Lack), At: u.Looks[0].At, Until: u.last().At, Cause: CauseNone, Text: u.String()}
		if before := d.lastServerFault(u.Looks[0].At); before != nil {
			f.Text += fmt.Sprintf("; the fault before it was %s", before)
			if before.Healed != history.None {
				f.Text += ", healed at " + seconds(before.Healed)
			}
		}
		f.Text += d.afterwards(&u, seen)
		f.Zxids = zxidWords([]int64{u.last().Zxid()})
		v.Count++
		v.Findings = append(v.Findings, f)
	}
	unconfirmed := d.final != nil && d.final.Kind != history.OK
	served := len(seen) > 0 && seen[len(seen)-1].serves()
	switch {
	case v.Count > 0:
		v.setf(Fail, "%s", v.Findings[0].Text)
	case unconfirmed:
		doubts = append(doubts, "not everything was healed in the end: "+d.final.Leftovers())
		v.setf(Unknown, "%s", strings.Join(doubts, "; "))
	case d.final != nil:
		v.setf(Pass, "a write was committed through each server after the last heal")
	case served && !d.endedUnserved:
		v.setf(Pass, "a write was committed through each server that was up")
	case len(doubts) > 0:
		v.setf(Unknown, "%s", strings.Join(doubts, "; "))
	case len(seen) > 0:
		v.setf(Unknown, "at the last look %s", seen[len(seen)-1].words())
	case !d.whole && len(d.faults) > 0:
		v.setf(Unknown, "the run ended before everything was healed")
	default:
		v.setf(NotApplicable, "there was no fault, and no client waited for long enough to give cause to ask the servers")
	}
	v.Findings = v.Findings[:min(len(v.Findings), maxFindings)]
	return v
}

// serviceQuiet is how much of the time between two instants no fault of a server was in force and no process stood
// still. A fault counts from its request to its heal, because what the servers do afterwards is in question here.
func (d *digest) serviceQuiet(from, until int64) int64 {
	disturbed := d.stillness()
	for _, f := range d.serverFaults() {
		end := f.Healed
		switch known := f.neverHappened(); {
		case end != history.None:
		case known != history.None:
			end = known
		case f.Permanent && f.Injected != history.None:
			end = f.Injected
		default:
			end = math.MaxInt64
		}
		disturbed = append(disturbed, spell{f.began(), end})
	}
	quiet := until - from
	for _, s := range merged(disturbed) {
		quiet -= max(0, min(s.until, until)-max(s.from, from))
	}
	return quiet
}

// serverFaults are the faults that may have struck a server.
func (d *digest) serverFaults() []*fault {
	return slices.DeleteFunc(slices.Clone(d.faults), func(f *fault) bool {
		return d.onlyClients(f) || len(f.targets) == 0 && !f.HitsServer
	})
}

// lastServerFault is the last fault of a server that was injected before an instant; nil if there is none.
func (d *digest) lastServerFault(at int64) *fault {
	for _, f := range slices.Backward(d.serverFaults()) {
		if f.Injected != history.None && f.Injected <= at {
			return f
		}
	}
	return nil
}

// afterwards says which servers were started again after a lack of service, and whether it was over then.
func (d *digest) afterwards(u *Unserved, seen []Look) string {
	served := servedAfter(u, seen)
	var restarted []string
	for _, e := range d.events.Of(history.OpProcess) {
		if e.At > u.Looks[0].At && e.At < served && e.ProcessIs(history.ProcessStarted) && !d.clientHosts[e.Process] {
			restarted = append(restarted, e.Process)
		}
	}
	switch {
	case len(restarted) == 0 && served == math.MaxInt64:
		return ""
	case len(restarted) == 0:
		return "; it was over by itself at " + seconds(served)
	case served == math.MaxInt64:
		return "; it was not over after " + strings.Join(restarted, ", and then ") + " had been started again"
	}
	return fmt.Sprintf("; it was over at %s, after %s had been started again", seconds(served),
		strings.Join(restarted, ", and then "))
}

// unserved are the times in which servers that were up did not serve, each from the last time that they served a
// client. Nothing is demanded of a lock then.
func (d *digest) unserved() []spell {
	all := looks(d.events)
	var times []spell
	for _, u := range Unserveds(all) {
		times = append(times, spell{d.lastServed(u.Looks[0].At), min(servedAfter(&u, all), d.end)})
	}
	return times
}

// servedAfter is when the servers were first seen to serve after a lack of service, the end of time if they were not.
func servedAfter(u *Unserved, seen []Look) int64 {
	for _, l := range seen {
		if l.At > u.last().At && l.serves() {
			return l.At
		}
	}
	return math.MaxInt64
}

// lastServed is the last instant before another at which the servers had committed something for a client: it had its
// place in a queue, a lock, or its release. It is the run's beginning if there is none.
func (d *digest) lastServed(before int64) int64 {
	var last int64
	note := func(at int64) {
		if at <= before {
			last = max(last, at)
		}
	}
	for i := range d.acquisitions {
		a := &d.acquisitions[i]
		note(a.Queued)
		if a.Granted() {
			note(a.Returned)
		}
		if a.ReleaseOutcome == history.OK {
			note(a.ReleaseReturned)
		}
	}
	return last
}
