package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"locklab/harness/check/effect"
	"locklab/harness/check/evidence"
	"locklab/harness/check/progress"
	"locklab/harness/history"
)

const ms = int64(time.Millisecond)

func byTime(a, b history.Event) int { return cmp.Compare(a.At, b.At) }

// validRun draws a run of a queue lock with a fenced counter in which nothing is wrong: clients are granted in token
// order, each hold ends before the next begins, and each holder increments the counter by one.
func validRun(t *rapid.T) ([]history.Event, evidence.Facts) {
	clients := rapid.IntRange(2, 5).Draw(t, "clients")
	grants := rapid.IntRange(3, 25).Draw(t, "grants")
	gap := func(label string) int64 { return rapid.Int64Range(1, 200).Draw(t, label) * ms }

	var events []history.Event
	add := func(e history.Event) { events = append(events, e) }
	say := func(e history.Event) {
		e.Process = "harness"
		add(e)
	}
	say(history.PhaseBegins(0, history.PhaseMeasure))
	free := make([]int64, clients) // since when each client is idle
	now, token := int64(0), int64(0)
	for n := range grants {
		c := rapid.IntRange(0, clients-1).Draw(t, "client")
		token += rapid.Int64Range(1, 9).Draw(t, "token")
		e := history.Event{
			Process: fmt.Sprintf("c%d", c%3+1),
			Lock:    "l1",
			Acq:     int64(n + 1),
			Session: history.SessionID(c + 1),
		}
		e.Client = fmt.Sprintf("%s/%d", e.Process, c)
		granted := max(now, free[c]+1) + gap("hand-off")
		invoked := rapid.Int64Range(free[c]+1, granted).Draw(t, "invoked")
		step := func(at int64, kind history.Kind, op history.Op, value int64) {
			e.At, e.Kind, e.Op, e.Value = at, kind, op, value
			add(e)
		}
		step(invoked, history.Invoke, history.OpAcquire, 0)
		e.Token = token
		step(granted, history.OK, history.OpAcquire, 0)
		now = granted
		for _, use := range []struct {
			op    history.Op
			value int64
		}{{history.OpEnter, 0}, {history.OpRead, int64(n)}, {history.OpWrite, int64(n + 1)}} {
			from := now
			now += gap("use")
			step(from, history.Invoke, use.op, use.value)
			e.Process = "r1"
			step((from+now)/2, history.OK, use.op, use.value)
			e.Process = history.HostOf(e.Client)
			step(now, history.OK, use.op, use.value)
		}
		step(now, history.Invoke, history.OpRelease, 0)
		free[c] = now + gap("release")
		step(free[c], history.OK, history.OpRelease, 0)
	}
	end := slices.Max(free) + ms
	say(history.PhaseBegins(end, history.PhaseDrain))
	say(history.PhaseBegins(end, history.PhaseCollect))
	complete := history.Ends(history.EndComplete, "")
	complete.At = end
	say(complete)
	slices.SortStableFunc(events, byTime)

	facts := recipes["queue"]
	facts.SessionTimeout, facts.Tick = 6*time.Second, time.Second
	facts.MinAcquired, facts.Guard = grants, evidence.GuardFencing
	return events, facts
}

func TestValidRunsPass(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events, facts := validRun(t)
		r := Run(history.NewLog(events), facts)
		if r.Verdict != evidence.Pass {
			t.Fatalf("verdict %s:\n%s", r.Verdict, describeReport(&r))
		}
	})
}

// A mutation breaks a valid run in one way. It returns the check that must
// notice, and what that check must say.
type mutation func(t *rapid.T, events []history.Event) (broken []history.Event, check string, says evidence.Result)

// pick draws one event that f accepts; the last k of them are not drawn.
func pick(t *rapid.T, events []history.Event, k int, f func(*history.Event) bool) int {
	var all []int
	for i := range events {
		if f(&events[i]) {
			all = append(all, i)
		}
	}
	return rapid.SampledFrom(all[:len(all)-k]).Draw(t, "event")
}

func isGrant(e *history.Event) bool { return e.Op == history.OpAcquire && e.Kind == history.OK }

// retoken gives one acquisition another token, in all of its events.
func retoken(events []history.Event, acq, token int64) {
	for i := range events {
		if events[i].Acq == acq && events[i].Token != 0 {
			events[i].Token = token
		}
	}
}

var mutations = map[string]mutation{
	"release late": func(t *rapid.T, events []history.Event) ([]history.Event, string, evidence.Result) {
		e := events[pick(t, events, 1, isGrant)]
		next := slices.IndexFunc(events, func(o history.Event) bool { return isGrant(&o) && o.Acq == e.Acq+1 })
		if events[next].Client == e.Client {
			t.Skip("the same client holds next")
		}
		release := slices.IndexFunc(events, func(o history.Event) bool {
			return o.Op == history.OpRelease && o.Kind == history.Invoke && o.Acq == e.Acq
		})
		events[release].At = events[next].At + 1
		return events, evidence.BeliefExclusion, evidence.Fail
	},
	"tokens swapped": func(t *rapid.T, events []history.Event) ([]history.Event, string, evidence.Result) {
		a := events[pick(t, events, 1, isGrant)]
		k := slices.IndexFunc(events, func(o history.Event) bool { return isGrant(&o) && o.Acq == a.Acq+1 })
		b := events[k]
		retoken(events, a.Acq, b.Token)
		retoken(events, b.Acq, a.Token)
		return events, rapid.SampledFrom([]string{evidence.Tokens, evidence.Fairness, evidence.Effect}).Draw(t,
			"check"), evidence.Fail
	},
	"token reused": func(t *rapid.T, events []history.Event) ([]history.Event, string, evidence.Result) {
		a := events[pick(t, events, 1, isGrant)]
		retoken(events, a.Acq+1, a.Token)
		return events, evidence.Tokens, evidence.Fail
	},
	"token missing": func(t *rapid.T, events []history.Event) ([]history.Event, string, evidence.Result) {
		events[pick(t, events, 0, isGrant)].Token = 0
		return events, evidence.Tokens, evidence.Fail
	},
	"write lost": func(t *rapid.T, events []history.Event) ([]history.Event, string, evidence.Result) {
		k := pick(t, events, 0, func(e *history.Event) bool { return e.Op == history.OpWrite && e.Process == "r1" })
		for i := k; i < len(events); i++ {
			if events[i].Op == history.OpWrite && events[i].Process == "r1" {
				events[i].Value--
			}
		}
		return events, evidence.Effect, evidence.Fail
	},
	"write invented": func(t *rapid.T, events []history.Event) ([]history.Event, string, evidence.Result) {
		k := pick(t, events, 0, func(e *history.Event) bool { return e.Op == history.OpWrite && e.Process == "r1" })
		for i := k; i < len(events); i++ {
			if events[i].Op == history.OpWrite && events[i].Process == "r1" {
				events[i].Value++
			}
		}
		return events, evidence.Effect, evidence.Fail
	},
	"stale access let in": func(t *rapid.T, events []history.Event) ([]history.Event, string, evidence.Result) {
		k := pick(t, events, 3, func(e *history.Event) bool { return e.Process == "r1" })
		e := events[k]
		last := events[pick(t, events, 0, func(o *history.Event) bool { return o.Process == "r1" && o.Acq > e.Acq })]
		e.Op, e.At = history.OpRead, last.At
		return append(events, e), evidence.Effect, evidence.Fail
	},
	"holder refused": func(t *rapid.T, events []history.Event) ([]history.Event, string, evidence.Result) {
		events[pick(t, events, 0, func(e *history.Event) bool { return e.Process == "r1" })].Kind = history.Fail
		return events, evidence.Effect, evidence.Fail
	},
	"waiter forgotten": func(t *rapid.T, events []history.Event) ([]history.Event, string, evidence.Result) {
		at := events[len(events)-1].At
		for i := range events {
			if events[i].At == at {
				events[i].At += rapid.Int64Range(9001, 60000).Draw(t, "wait") * ms // 9 s and the end's own ms are no stall
			}
		}
		return append(events, history.Event{
			At:      at,
			Process: "c9",
			Client:  "c9/9", // no other has that number, on one host either
			Op:      history.OpAcquire,
			Kind:    history.Invoke,
			Lock:    "l1",
			Acq:     1,
		}), evidence.Liveness, evidence.Fail
	},
	"no end": func(_ *rapid.T, events []history.Event) ([]history.Event, string, evidence.Result) {
		return slices.DeleteFunc(events,
			func(e history.Event) bool { return e.Op == history.OpEnd }), evidence.Assumptions, evidence.Unknown
	},
	"nothing measured": func(_ *rapid.T, events []history.Event) ([]history.Event, string, evidence.Result) {
		return slices.DeleteFunc(
			events,
			func(e history.Event) bool { return e.Op == history.OpPhase && e.Phase() == history.PhaseMeasure },
		), evidence.Assumptions, evidence.Unknown
	},
	"call forgotten": func(t *rapid.T, events []history.Event) ([]history.Event, string, evidence.Result) {
		k := pick(t, events, 0,
			func(e *history.Event) bool { return e.Op == history.OpAcquire && e.Kind == history.Invoke })
		return slices.Delete(events, k, k+1), evidence.Assumptions, evidence.Unknown
	},
	"grant forgotten": func(t *rapid.T, events []history.Event) ([]history.Event, string, evidence.Result) {
		k := pick(t, events, 0, isGrant)
		return slices.Delete(events, k, k+1), evidence.Assumptions, evidence.Unknown
	},
	"server died": func(t *rapid.T, events []history.Event) ([]history.Event, string, evidence.Result) {
		at := rapid.Int64Range(0, events[len(events)-1].At-1).Draw(t, "death")
		return append(
			events,
			history.Event{At: at, Process: "zk1", Op: history.OpProcess, Mode: history.Mode(history.ProcessExited)},
		), evidence.Assumptions, evidence.Unknown
	},
	"fault not injected": func(t *rapid.T, events []history.Event) ([]history.Event, string, evidence.Result) {
		return append(
			events,
			history.Event{At: 1, Process: "harness", Op: history.OpFaultInject, Kind: history.Invoke, Fault: "f1"},
		), evidence.Assumptions, evidence.Unknown
	},
}

// A valid run with one thing broken never passes, and the check that is responsible says so.
func TestMutationsAreCaught(t *testing.T) {
	for _, name := range evidence.SortedKeys(mutations) {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			events, facts := validRun(t)
			broken, check, says := mutations[name](t, events)
			broken = onOneHost(broken)
			r := Run(history.NewLog(broken), facts)
			if v := r.Check(check); v.Result != says || r.Verdict == evidence.Pass {
				t.Fatalf("%s says %s, want %s; verdict %s:\n%s", check, v.Result, says, r.Verdict, describeReport(&r))
			}
		}))
	}
}

// onOneHost moves all clients to one host, where one clock leaves no doubt, and sorts the events by time. What is
// shorter than the clocks of two hosts can differ is unknown.
func onOneHost(events []history.Event) []history.Event {
	for i := range events {
		e := &events[i]
		if _, number, is := strings.Cut(e.Client, "/"); is {
			if e.Process == history.HostOf(e.Client) {
				e.Process = "c1"
			}
			e.Client = "c1/" + number
		} else if strings.HasPrefix(e.Process, "c") {
			e.Process = "c1"
		}
	}
	slices.SortStableFunc(events, byTime)
	return events
}

// drawGrants draws grants of one lock with little regard for sense: few instants, so
// that many coincide, and few tokens.
func drawGrants(t *rapid.T) []*history.Acquisition {
	all := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) *history.Acquisition {
		instant := func(label string, from int64) int64 { return rapid.Int64Range(from, 30).Draw(t, label) }
		a := &history.Acquisition{Outcome: history.OK, ReleaseReturned: history.None, ReleaseInvoked: history.None,
			Token:   rapid.Int64Range(1, 20).Draw(t, "token"),
			Trouble: &history.Trouble{Died: history.None, Lost: history.None},
			Claimant: &history.Claimant{Lock: "l1", Client: fmt.Sprintf("c1/%d", rapid.IntRange(0, 6).Draw(t, "client")),
				Mode: rapid.SampledFrom([]history.Mode{history.ModeExclusive, history.ModeWrite, history.ModeRead,
					history.ModeRead}).Draw(t, "mode")},
		}
		a.Invoked = instant("invoked", 0)
		a.Returned = instant("returned", a.Invoked)
		switch rapid.IntRange(0, 3).Draw(t, "ending") {
		case 0:
			a.Lost = instant("lost", 0) // perhaps before acquire returned
		case 1:
			a.ReleaseInvoked = instant("release", a.Returned)
		case 2:
			a.ReleaseInvoked = instant("release", a.Returned)
			a.ReleaseReturned, a.ReleaseOutcome = instant("released", a.ReleaseInvoked), history.OK
		}
		return a
	}), 0, 30).Draw(t, "grants")
	slices.SortStableFunc(all, func(a, b *history.Acquisition) int { return cmp.Compare(a.Returned, b.Returned) })
	return all
}

func bothRead(a, b *history.Acquisition) bool {
	return a.Mode == history.ModeRead && b.Mode == history.ModeRead
}

// TestOverlapsAgainstOracle compares effect.EachOverlap with the definition, which looks at every pair.
func TestOverlapsAgainstOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var holds []effect.Hold
		for _, a := range drawGrants(t) {
			holds = append(holds, effect.Hold{From: a.Returned, Until: a.BelievedUntil(40), By: a})
		}
		type pair struct{ a, b *history.Acquisition }
		want := map[pair]bool{}
		for i, a := range holds {
			for _, b := range holds[i+1:] {
				if a.By.Client != b.By.Client && !bothRead(a.By, b.By) && max(a.From, b.From) < min(a.Until, b.Until) {
					want[pair{a.By, b.By}] = true
				}
			}
		}
		got, last := 0, int64(-1)
		effect.EachOverlap(holds, func(a, b *effect.Hold) {
			got++
			if !want[pair{a.By, b.By}] {
				t.Fatalf("not an overlap: [%d,%d) and [%d,%d)", a.From, a.Until, b.From, b.Until)
			}
			if b.From < last {
				t.Fatalf("visited out of order")
			}
			last = b.From
		})
		if got != len(want) {
			t.Fatalf("visited %d overlaps, there are %d", got, len(want))
		}
	})
}

func TestOvertakenAgainstOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		grants := drawGrants(t)
		slack := rapid.Int64Range(0, 3).Draw(t, "slack")
		got := overtaken(grants, returnedAt, slack)
		if got == nil {
			got = make([]int64, len(grants))
		}
		for i, n := range got {
			want := int64(0)
			for _, before := range grants[:i] {
				if before.Token > grants[i].Token && !bothRead(before, grants[i]) &&
					before.Returned+slack <= grants[i].Returned {
					want++
				}
			}
			if n != want {
				t.Fatalf("grant %d was overtaken %d times, want %d", i, n, want)
			}
		}
	})
}

// TestTokensAgainstOracle compares which grants are condemned with the two rules applied to every pair.
func TestTokensAgainstOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		grants := drawGrants(t)
		slices.SortStableFunc(grants, func(a, b *history.Acquisition) int {
			return cmp.Or(cmp.Compare(a.Returned, b.Returned), cmp.Compare(a.Token, b.Token))
		})
		want := int64(0)
		for i, b := range grants {
			bad, same := false, false
			has, _ := held(&evidence.Digest{}, b)
			for k, a := range grants[:i] {
				certain := a.Returned <= b.Invoked || has && a.Returned < b.Returned
				bad = bad || k < i && certain && a.Token > b.Token && !bothRead(a, b)
				if a.Token == b.Token && !same {
					// The first grant with the token must be the write hold of b's client, which reads or enters once more.
					same = true
					bad = bad || a.Mode == history.ModeRead || b.Mode != history.ModeRead && b.Mode != a.Mode ||
						a.Client != b.Client ||
						a.Returned > b.Invoked ||
						a.ReleaseInvoked != history.None && a.ReleaseInvoked < b.Invoked ||
						a.Lost != history.None && a.Lost < b.Invoked
				}
			}
			if bad {
				want++
			}
		}
		order := tokenOrder{Digest: &evidence.Digest{}}
		order.judge(grants, false)
		if order.bad != want {
			t.Fatalf("%d grants condemned, want %d", order.bad, want)
		}
	})
}

// TestStallsAgainstOracle compares the stalls with a walk over every instant.
func TestStallsAgainstOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		grants := drawGrants(t)
		for i, a := range grants {
			if i%3 == 0 {
				a.Outcome, a.Token = history.Fail, 0
			}
		}
		l := progress.LivenessJudge{
			Digest: &evidence.Digest{Beliefs: history.Beliefs{End: 40}, Facts: evidence.Facts{Tick: 2}},
			Bound:  rapid.Int64Range(0, 12).Draw(t, "bound"),
			Stop:   40,
		}
		l.Locks = []evidence.LockGrants{{Lock: "l1", Grants: slices.DeleteFunc(slices.Clone(grants),
			func(a *history.Acquisition) bool { return !a.Granted() })}}
		if rapid.Bool().Draw(t, "fault") {
			from := rapid.Int64Range(0, 40).Draw(t, "injected")
			l.Faults = []*evidence.Fault{{FaultTimes: history.FaultTimes{Requested: history.None, Injected: from, Healed: from,
				HealVerified: rapid.Int64Range(from, 40).Draw(t, "healed")}}}
		}
		want, waited := 0, int64(0)
		over := func() {
			if waited > l.Bound {
				want++
			}
			waited = 0
		}
		for now := range int64(40) { // the unit interval [now, now+1)
			waiting, blocked := false, false
			for _, f := range l.Faults {
				from, until := l.InForce(f)
				blocked = blocked || from <= now && now < until
			}
			for _, a := range grants {
				if a.Granted() && a.Returned == now {
					over()
				}
				from, until := l.Waited(a)
				waiting = waiting || from <= now && now < until
				blocked = blocked || a.Granted() && a.Returned <= now && now < a.BelievedUntil(40)
			}
			switch {
			case blocked:
				over()
			case waiting:
				waited++
			}
		}
		over()
		if got := l.Stalls("l1", grants); len(got) != want {
			t.Fatalf("%d stalls, want %d: %v", len(got), want, got)
		}
	})
}

// TestStaleAgainstOracle compares the counts of stale accesses with the definition: an access is stale if any access
// that was accepted before it had a higher token.
func TestStaleAgainstOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kinds := []history.Kind{history.OK, history.OK, history.Fail}
		events := rapid.SliceOf(rapid.Custom(func(t *rapid.T) history.Event {
			return history.Event{
				Process: "r1",
				Client:  "c1/0",
				Op:      rapid.SampledFrom([]history.Op{history.OpRead, history.OpWrite}).Draw(t, "op"),
				Mode: rapid.SampledFrom([]history.Mode{"", history.ModeWrite, history.ModeRead, history.ModePermit}).
					Draw(t, "mode"),
				Target: rapid.SampledFrom([]string{string(history.NewSlot(0)), string(history.NewSlot(1))}).
					Draw(t, "slot"),
				Kind:  rapid.SampledFrom(kinds).Draw(t, "kind"),
				Lock:  rapid.SampledFrom([]string{"l1", "l2"}).Draw(t, "lock"),
				Token: rapid.Int64Range(1, 8).Draw(t, "token"),
			}
		})).Draw(t, "accesses")
		x := effect.Effects{Locks: map[string]*effect.LockEffect{}, Most: (&evidence.Digest{}).MostPermits,
			Apart: (&evidence.Digest{}).Apart}
		var accepted, rejected, wrong int64
		for i := range events {
			x.Add(&events[i])
			stale := slices.ContainsFunc(events[:i], func(e history.Event) bool {
				a, b := &e, &events[i]
				bounds := a.Lock == b.Lock && a.Kind == history.OK && a.Token > b.Token
				if a.Mode == history.ModePermit || b.Mode == history.ModePermit {
					return bounds && a.Mode == b.Mode && a.Target == b.Target
				}
				writes := func(e *history.Event) bool { return e.Op == history.OpWrite || e.Mode != history.ModeRead }
				return bounds && (writes(a) || writes(b))
			})
			switch {
			case stale && events[i].Kind == history.OK:
				accepted++
			case stale:
				rejected++
			case events[i].Kind == history.Fail:
				wrong++
			}
		}
		if x.StaleAccepted != accepted || x.StaleRejected != rejected || x.FalseRejections != wrong {
			t.Fatalf("accepted %d rejected %d wrong %d, want %d %d %d", x.StaleAccepted, x.StaleRejected, x.FalseRejections,
				accepted, rejected, wrong)
		}
	})
}

// Whatever the events are, Run returns, and a run without an end does not pass.
func TestJunk(t *testing.T) {
	ops := []history.Op{
		history.OpAcquire,
		history.OpRelease,
		history.OpLost,
		history.OpWrite,
		history.OpConnected,
		history.OpTrigger,
		history.OpProcess,
		history.OpPhase,
		history.OpFaultInject,
		history.OpFaultVerify,
		history.OpFaultHeal,
		history.OpFaultHealVerify,
	}
	rapid.Check(t, func(t *rapid.T) {
		events := rapid.SliceOf(rapid.Custom(func(t *rapid.T) history.Event {
			name := func(label string, all ...string) string { return rapid.SampledFrom(all).Draw(t, label) }
			return history.Event{
				At:      rapid.Int64Range(-5, 50).Draw(t, "at"),
				Process: name("process", "c1", "c2", "r1", "harness", ""),
				Kind:    history.Kind(rapid.IntRange(0, 4).Draw(t, "kind")),
				Op:      rapid.SampledFrom(ops).Draw(t, "op"),
				Client:  name("client", "c1/0", "c2/0", "odd", ""),
				Acq:     rapid.Int64Range(0, 3).Draw(t, "n"),
				Lock:    name("lock", "l1", "l2", ""),
				Token: rapid.Int64Range(0, 5).
					Draw(t, "token"),
				Fault:  name("fault", "f1", "f2", ""),
				Target: name("target", "c1", "zk1", ""),
				Mode:   history.Mode(name("mode", "", "exited", "pause")),
				Detail: name("detail", "", "measure", "collect"),
			}
		})).Draw(t, "events")
		r := Run(history.NewLog(events), evidence.Facts{Tokens: true, Queue: true, Exclusive: true, SessionTimeout: 6,
			Tick: 1})
		broke := func(w string) bool { return strings.Contains(w, "broke") || strings.HasPrefix(w, "no check ran") }
		if slices.ContainsFunc(r.Warnings, broke) || r.Verdict == evidence.Pass {
			t.Fatalf("verdict %s, warnings %v", r.Verdict, r.Warnings)
		}
	})
}
