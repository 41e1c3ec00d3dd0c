package progress

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"locklab/harness/check/evidence"
	"locklab/harness/check/service"
	"locklab/harness/check/spans"
	"locklab/harness/history"
)

var ServiceLivenessCheck = evidence.Check{
	Name: evidence.ServiceLiveness,
	Asks: "did the servers serve once no fault of theirs was in force, whatever the lock did: was there a leader, " +
		"were writes committed, and through each server that was up?",
	Subject: "the servers' progress",
	Judge:   judgeServiceLiveness,
}

// judgeServiceLiveness asks whether servers that were up served. The harness looks at the servers when clients have had
// no answer for seconds, or when an ensemble does not recover, so a run in which nobody had to wait has no looks. Then
// the final heal says that a write was committed through each server.
//
// A lack of service is a finding if it lasted for its [history.Lack.Bound] while no fault of a server was in force and
// no process stood still. It counts between looks only, because nothing is known of the time before the first. It is
// told with the fault that preceded it and with the restarts that ended it, or did not.
func judgeServiceLiveness(d *evidence.Digest, _ *evidence.Safety) evidence.Verdict {
	v := evidence.Verdict{}
	var doubts []string
	seen := d.Events.Looks()
	for _, u := range d.Unserveds() {
		if quiet := serviceQuiet(d, u.Looks[0].At, u.Last().At, false); quiet < int64(u.Lack.Bound()) {
			if d.EndedUnserved || u.Last().At == seen[len(seen)-1].At {
				doubts = append(doubts, fmt.Sprintf("%s; that is too short to tell, because only %s of it count", seenOf(&u),
					evidence.Length(quiet)))
			}
			continue
		}
		f := evidence.Finding{Kind: evidence.Kind(u.Lack), At: u.Looks[0].At, Until: u.Last().At, Cause: evidence.CauseNone,
			Text: seenOf(&u)}
		if before := lastServerFault(d, u.Looks[0].At); before != nil {
			f.Text += fmt.Sprintf("; the fault before it was %s", before)
			if before.Healed != history.None {
				f.Text += ", healed at " + evidence.Seconds(before.Healed)
			}
		}
		f.Text += afterwards(d, &u, seen)
		f.Zxids = evidence.ZxidWords([]int64{u.Last().Zxid()})
		v.Count++
		v.Findings = append(v.Findings, f)
	}
	perhaps := unservedInAll(d, seen)
	unconfirmed := d.Final != nil && d.Final.Kind != history.OK
	served := len(seen) > 0 && seen[len(seen)-1].Serves()
	switch {
	case v.Count > 0:
		v.Setf(evidence.Fail, "%s", v.Findings[0].Text)
	case perhaps != "":
		v.Setf(evidence.Unknown, "%s", strings.Join(append(doubts, perhaps), "; "))
	case unconfirmed:
		doubts = append(doubts, "not everything was healed in the end: "+d.Final.Leftovers())
		v.Setf(evidence.Unknown, "%s", strings.Join(doubts, "; "))
	case d.Final != nil:
		v.Setf(evidence.Pass, "a write was committed through each server after the last heal")
	case served && !d.EndedUnserved:
		v.Setf(evidence.Pass, "a write was committed through each server that was up")
	case len(doubts) > 0:
		v.Setf(evidence.Unknown, "%s", strings.Join(doubts, "; "))
	case len(seen) > 0:
		v.Setf(evidence.Unknown, "at the last look %s", seen[len(seen)-1].Words())
	case !d.Whole && len(d.Faults) > 0:
		v.Setf(evidence.Unknown, "the run ended before everything was healed")
	default:
		v.Setf(evidence.NotApplicable,
			"there was no fault, and no client waited for long enough to give cause to ask the servers")
	}
	v.Findings = v.Findings[:min(len(v.Findings), evidence.MaxFindings)]
	return v
}

// seenOf says what was seen of a lack of service, without a fault that may have preceded it.
func seenOf(u *service.Unserved) string {
	from, until := evidence.Seconds(u.Looks[0].At), evidence.Seconds(u.Last().At)
	who := strings.Join(u.Servers, " and ")
	var what string
	switch u.Lack {
	case history.CommitsNothing:
		what = fmt.Sprintf("the ensemble had a leader and a quorum and committed nothing from %s to %s; its last "+
			"transaction was %s", from, until, evidence.Zxid(u.Last().Zxid()))
	case history.Leaderless:
		what = fmt.Sprintf("a quorum of servers was up without a leader from %s to %s", from, until)
	case history.ServesNobody:
		what = fmt.Sprintf("%s answered ruok and served nobody from %s to %s", who, from, until)
	case history.NeverCatchesUp:
		what = fmt.Sprintf("%s followed, and no write was committed through it, from %s to %s", who, from, until)
	}
	return what + "; at the last look " + u.Last().Words()
}

// unservedInAll says where servers lacked service at each look for as long as the longest bound, though in one way and
// then in another, or beside faults that let heartbeats through; "" if nowhere.
func unservedInAll(d *evidence.Digest, seen []history.Look) string {
	first := -1
	for i := 0; i <= len(seen); i++ {
		lacks := false
		if i < len(seen) {
			lack, _ := seen[i].Lack()
			lacks = lack != ""
		}
		switch {
		case lacks && first < 0:
			first = i
		case !lacks && first >= 0:
			from, until := seen[first].At, seen[i-1].At
			if serviceQuiet(d, from, until, true) >= int64(history.Leaderless.Bound()) {
				return fmt.Sprintf("servers lacked service at each look from %s to %s, in one way or another, or beside faults "+
					"that need not have been the cause", evidence.Seconds(from), evidence.Seconds(until))
			}
			first = -1
		}
	}
	return ""
}

// serviceQuiet is how much of the time between two instants no fault of a server was in force and no process stood
// still. A fault counts from its request to its heal, because what the servers do afterwards is in question here;
// strictly, none counts that lets heartbeats through.
func serviceQuiet(d *evidence.Digest, from, until int64, strictly bool) int64 {
	disturbed := d.Stillness(evidence.Standstill(d.Facts.Tick))
	for _, f := range serverFaults(d) {
		if strictly && f.Passes(d.LongestTimeout()) {
			continue
		}
		end := f.Healed
		switch known := f.NeverHappened(); {
		case end != history.None:
		case known != history.None:
			end = known
		case f.Permanent && f.Injected != history.None:
			end = f.Injected
		default:
			end = math.MaxInt64
		}
		disturbed = append(disturbed, spans.Span{From: f.Began(), Until: end})
	}
	return until - from - spans.Merged(disturbed).Within(from, until)
}

// serverFaults are the faults that may have struck a server.
func serverFaults(d *evidence.Digest) []*evidence.Fault {
	return slices.DeleteFunc(slices.Clone(d.Faults), func(f *evidence.Fault) bool {
		return d.OnlyClients(f) || len(f.Targets) == 0 && !f.HitsServer
	})
}

// lastServerFault is the last fault of a server that was injected before an instant; nil if there is none.
func lastServerFault(d *evidence.Digest, at int64) *evidence.Fault {
	for _, f := range slices.Backward(serverFaults(d)) {
		if f.Injected != history.None && f.Injected <= at {
			return f
		}
	}
	return nil
}

// afterwards says which servers were started again after a lack of service, and whether it was over then.
func afterwards(d *evidence.Digest, u *service.Unserved, seen []history.Look) string {
	served := service.ServedAfter(u, seen)
	var restarted []string
	for _, e := range d.Events.Of(history.OpProcess) {
		if e.At > u.Looks[0].At && e.At < served && e.ProcessIs(history.ProcessStarted) && !d.ClientHosts[e.Process] {
			restarted = append(restarted, e.Process)
		}
	}
	switch {
	case len(restarted) == 0 && served == math.MaxInt64:
		return ""
	case len(restarted) == 0:
		return "; it was over by itself at " + evidence.Seconds(served)
	case served == math.MaxInt64:
		return "; it was not over after " + strings.Join(restarted, ", and then ") + " had been started again"
	}
	return fmt.Sprintf("; it was over at %s, after %s had been started again", evidence.Seconds(served),
		strings.Join(restarted, ", and then "))
}
