package result

import (
	"strings"
	"testing"
	"time"

	"locklab/harness/check"
	"locklab/harness/check/effect"
	"locklab/harness/check/evidence"
	"locklab/harness/history"
	"locklab/reports/internal/synth"
)

// overlapBy is a finding that clients a and b believed at once from 4 s to 7.1 s.
func overlapBy(a, b string, token int64, cause, fault string) evidence.Finding {
	return evidence.Finding{Kind: findingOverlap, Lock: synth.TheLock, At: 4e9, Until: 7.1e9, Clients: []string{a, b},
		Tokens: []int64{token, token + 1},
		Cause:  cause, Fault: fault, Explained: cause != evidence.CauseNone, Text: a + " and " + b + " both believed that " +
			"they held " + synth.TheLock}
}

func TestHeadline(t *testing.T) {
	pause := effect.FaultRecord{ID: "f1", Kind: "pause", Target: "c1", InjectedNs: new(int64(1e9)),
		HealedNs: new(int64(7e9)), Verified: true}
	clean := evidence.Safety{Overlaps: new(int64(0)), OverlapsUnexplained: new(int64(0)), MaxOverlapNs: new(int64(0)),
		LostUpdates: new(int64(0)), StaleAccepted: new(int64(0)), StaleRejected: new(int64(0))}
	one := evidence.Safety{Overlaps: new(int64(1)), OverlapsUnexplained: new(int64(0)), MaxOverlapNs: new(int64(3.1e9)),
		LostUpdates: new(int64(1)), StaleAccepted: new(int64(0)), StaleRejected: new(int64(0))}
	with := func(s evidence.Safety, change func(*evidence.Safety)) evidence.Safety { change(&s); return s }
	for _, c := range []struct {
		name     string
		acquired int64
		partial  bool
		safety   evidence.Safety
		faults   []effect.FaultRecord
		verdict  evidence.Result
		checks   []evidence.Verdict
		want     string
	}{
		{name: "clean", acquired: 18204, safety: clean, verdict: evidence.Pass,
			want: "No two clients believed they held the lock at once in 18,204 acquisitions."},
		{name: "the demonstration", acquired: 30, safety: one, faults: []effect.FaultRecord{pause}, verdict: evidence.Pass,
			checks: []evidence.Verdict{{Name: evidence.BeliefExclusion,
				Findings: []evidence.Finding{overlapBy("c1/1", "c2/1", 5, "pause", "f1")}}},
			want: "Two clients believed they held the lock at once for 3.1 s after one was paused longer than its " +
				"session timeout. One update was lost."},
		{name: "an outdated write and the update that it destroyed", acquired: 30, verdict: evidence.Pass,
			safety: with(one, func(s *evidence.Safety) {
				s.StaleAccepted, s.StaleWritesUntold = new(int64(1)), new(int64(1))
				s.LostUpdatesOfOthers = new(int64(1))
			}),
			want: "Two clients believed they held the lock at once for 3.1 s. The resource accepted one outdated access, a " +
				"write that was invoked before its client learned of the loss, and one update of another client was lost."},
		{name: "the outdated updates are lost themselves", acquired: 30, verdict: evidence.Pass,
			safety: with(one, func(s *evidence.Safety) {
				s.StaleAccepted, s.StaleWritesUntold = new(int64(3)), new(int64(2))
				s.LostUpdates, s.LostUpdatesOfOthers = new(int64(2)), new(int64(0))
			}),
			want: "Two clients believed they held the lock at once for 3.1 s. The resource accepted 3 outdated accesses, 2 of " +
				"them writes that were invoked before their client learned of the loss, and 2 outdated updates were lost."},
		{name: "updates of both kinds, by a client that had been told", acquired: 30, verdict: evidence.Pass,
			safety: with(one, func(s *evidence.Safety) {
				s.StaleAccepted, s.StaleWritesUntold = new(int64(1)), new(int64(0))
				s.LostUpdates, s.LostUpdatesOfOthers = new(int64(3)), new(int64(2))
			}),
			want: "Two clients believed they held the lock at once for 3.1 s. The resource accepted one outdated access, and " +
				"3 updates were lost, 2 of them of other clients."},
		{name: "a server was paused, not the holder", acquired: 30, safety: one, verdict: evidence.Pass,
			faults: []effect.FaultRecord{{ID: "f1", Kind: "pause", Target: "zk1", InjectedNs: new(int64(1e9)),
				HealedNs: new(int64(7e9))}},
			checks: []evidence.Verdict{{Name: evidence.BeliefExclusion,
				Findings: []evidence.Finding{overlapBy("c1/1", "c2/1", 5, "pause", "f1")}}},
			want: "Two clients believed they held the lock at once for 3.1 s after zk1 was paused. One update was lost."},
		{name: "one hold against many", acquired: 30, faults: []effect.FaultRecord{pause}, verdict: evidence.Pass,
			safety: with(one, func(s *evidence.Safety) {
				s.Overlaps = new(int64(2))
				s.LostUpdates = new(int64(0))
				s.StaleRejected = new(int64(1))
			}),
			checks: []evidence.Verdict{{Name: evidence.BeliefExclusion, Findings: []evidence.Finding{
				overlapBy("c1/1", "c2/1", 5, "pause", "f1"), overlapBy("c1/1", "c3/1", 5, "pause", "f1")}}},
			want: "One client believed it still held the lock while others got it 2 times in turn, for 3.1 s in all, after " +
				"it was paused longer than its session timeout. " +
				"The resource refused one outdated access, and no update was lost."},
		{name: "two holds of one client against many", acquired: 30, faults: []effect.FaultRecord{pause},
			verdict: evidence.Pass,
			safety: with(one, func(s *evidence.Safety) {
				s.Overlaps = new(int64(3))
				s.StaleAccepted, s.StaleWritesUntold = new(int64(2)), new(int64(2))
				s.LostUpdates, s.LostUpdatesOfOthers = new(int64(3)), new(int64(3))
			}),
			checks: []evidence.Verdict{{Name: evidence.BeliefExclusion, Findings: []evidence.Finding{
				overlapBy("c1/1", "c2/1", 5, "pause", "f1"), overlapBy("c1/1", "c3/1", 5, "pause", "f1"),
				overlapBy("c1/1", "c3/1", 15, "pause", "f1")}}},
			want: "One client believed 2 times that it still held the lock while others got it, 3 times in turn and for " +
				"3.1 s in all, each time after it was paused longer than its session timeout. The resource accepted 2 outdated " +
				"accesses, writes that were invoked before their client learned of the loss, and 3 updates of other clients " +
				"were lost."},
		{name: "more overlaps than findings: no cause is claimed", acquired: 5000, faults: []effect.FaultRecord{pause},
			verdict: evidence.Fail,
			safety:  with(one, func(s *evidence.Safety) { s.Overlaps = new(int64(900)); s.OverlapsUnexplained = new(int64(3)) }),
			checks: []evidence.Verdict{{Name: evidence.BeliefExclusion, Expected: evidence.ExpectPass, Result: evidence.Fail,
				Violation: true,
				Findings:  []evidence.Finding{overlapBy("c1/1", "c2/1", 5, "pause", "f1")}}},
			want: "Two clients believed they held the lock at once, 900 times and for up to 3.1 s. One update was lost. No " +
				"fault explains 3 of them: that is a bug in the lock or in the servers."},
		{name: "damage that no fault explains, beside some that one does", acquired: 30, safety: one,
			faults: []effect.FaultRecord{pause}, verdict: evidence.Fail,
			checks: []evidence.Verdict{{Name: evidence.BeliefExclusion,
				Findings: []evidence.Finding{overlapBy("c1/1", "c2/1", 5, "pause", "f1")}},
				{Name: evidence.Effect, Result: evidence.Fail, Violation: true, Findings: []evidence.Finding{
					{Kind: "lost-update", Cause: "pause", Explained: true}, {Kind: "lost-update", Cause: evidence.CauseNone}}}},
			want: "Two clients believed they held the lock at once for 3.1 s after one was paused longer than its " +
				"session timeout. One update was lost. No fault explains all of this damage: what it does not explain is a " +
				"bug in the lock or in the resource."},
		{name: "a grant that the servers did not back", acquired: 9, verdict: evidence.Fail,
			safety: with(clean, func(s *evidence.Safety) { s.UnbackedGrants = new(int64(2)) }),
			checks: []evidence.Verdict{{Name: evidence.ServiceExclusion, Result: evidence.Fail, Violation: true,
				Findings: []evidence.Finding{{Kind: "grant-before-eligible"}, {Kind: "grant-before-eligible"}}}},
			want: "No two clients believed they held the lock at once in 9 acquisitions. A client was told that it had the " +
				"lock before it was its turn at the servers, 2 times."},
		{name: "several kinds, and a hold that lasted too long", acquired: 9, verdict: evidence.Fail,
			safety: with(clean, func(s *evidence.Safety) {
				s.UnbackedGrants, s.OutlivedZnodes = new(int64(2)), new(int64(1))
			}),
			checks: []evidence.Verdict{{Name: evidence.ServiceExclusion, Result: evidence.Fail, Violation: true,
				Findings: []evidence.Finding{{Kind: "grant-before-eligible"}, {Kind: "hold-outlived-znode"},
					{Kind: "grant-without-znode"}}}},
			want: "No two clients believed they held the lock at once in 9 acquisitions. Clients were told that they had " +
				"locks that the servers had not granted them, 2 times. A client went on holding the lock after it was gone " +
				"at the servers, and nothing excuses that."},
		{name: "unknown", acquired: 12, safety: clean, verdict: evidence.Unknown,
			checks: []evidence.Verdict{{Name: evidence.Assumptions, Expected: evidence.ExpectPass, Result: evidence.Unknown,
				Summary: "nobody held the lock when the fault struck"}},
			want: "The check of the conditions of the run could not tell: nobody held the lock when the fault struck. " +
				"No two clients believed they held the lock at once in 12 acquisitions."},
		{name: "no overlap seen, but not all of the record is there", acquired: 8, safety: clean, verdict: evidence.Unknown,
			checks: []evidence.Verdict{{Name: evidence.BeliefExclusion, Expected: evidence.ExpectPass, Result: evidence.Unknown,
				Summary: "the history is not complete"}},
			want: "The check of which clients believed that they held the lock could not tell: the history is not complete. " +
				"No two clients were seen to hold the lock at once in 8 acquisitions, but the record does not rule it out."},
		{name: "nothing", verdict: evidence.Unknown, partial: true,
			want: "The run broke off before its end. No check says why it is unknown. No acquisitions were recorded."},
		{name: "not judged", acquired: 4, verdict: evidence.Pass,
			want: "4 acquisitions; whether two clients held a lock at once was not judged."},
		{name: "liveness", acquired: 40, safety: clean, verdict: evidence.Fail,
			checks: []evidence.Verdict{{Name: evidence.Liveness, Expected: evidence.ExpectPass, Result: evidence.Fail,
				Violation: true,
				Summary:   "a free lock was not granted for 9 s"}},
			want: "No two clients believed they held the lock at once in 40 acquisitions. The check of progress failed: " +
				"a free lock was not granted for 9 s."},
	} {
		r := Result{Partial: c.partial, Safety: c.safety, Faults: c.faults, SessionTimeoutNs: nanoseconds(2 * time.Second)}
		r.Operations.AcquiredInRun = c.acquired
		got := headline(r, check.Report{Verdict: c.verdict, Checks: c.checks, Safety: c.safety})
		if got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
		for _, jargon := range []string{"zxid", "czxid", "znode", "nil", "%!"} {
			if strings.Contains(got, jargon) {
				t.Errorf("%s: says %q", c.name, jargon)
			}
		}
	}
}

// The meaning of exclusion depends on the modes.
func TestHeadlineByMode(t *testing.T) {
	for modes, want := range map[string][3]string{
		"": {"No two clients believed they held the lock at once in 9 acquisitions.",
			"No two clients were seen to hold the lock at once in 9 acquisitions, but the record does not rule it out.",
			"Two clients believed they held the lock at once for 5 ms."},
		"write": {"No two clients believed they held the lock at once in 9 acquisitions.",
			"No two clients were seen to hold the lock at once in 9 acquisitions, but the record does not rule it out.",
			"Two clients believed they held the lock at once for 5 ms."},
		"read write": {"No writer believed it held the lock while another client did in 9 acquisitions.",
			"No writer was seen to hold the lock while another client did in 9 acquisitions, but the record does not " +
				"rule it out.", "A writer and another client believed they held the lock at once for 5 ms."},
		"permit": {"No more permits were believed held than there are in 9 acquisitions.",
			"No more permits were seen to be believed held than there are in 9 acquisitions, but the record does not " +
				"rule it out.", "Clients believed they held more permits than there are for 5 ms."},
		"permit write": {"No clients believed at once that they held locks that exclude each other in 9 acquisitions.",
			"No clients were seen to hold at once locks that exclude each other in 9 acquisitions, but the record does not " +
				"rule it out.", "Clients believed they held locks that exclude each other for 5 ms."},
	} {
		var in []history.Mode
		for mode := range strings.FieldsSeq(modes) {
			in = append(in, history.Mode(mode))
		}
		r := Result{modes: in, Safety: evidence.Safety{Overlaps: new(int64(0)), MaxOverlapNs: new(int64(5e6))}}
		r.Operations.AcquiredInRun = 9
		rep := check.Report{Verdict: evidence.Pass, Checks: []evidence.Verdict{{Name: evidence.BeliefExclusion,
			Result: evidence.Pass}}}
		got := [3]string{headline(r, rep)}
		rep.Checks[0].Result = evidence.Unknown
		got[1] = headline(r, rep)
		r.Safety.Overlaps = new(int64(1))
		got[2] = headline(r, rep)
		if got != want {
			t.Errorf("%q:\n got %q\nwant %q", modes, got, want)
		}
	}
}
