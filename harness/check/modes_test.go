package check

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"locklab/harness/check/effect"
	"locklab/harness/check/evidence"
	"locklab/harness/history"
)

// A sharedRun builds a run of a lock with modes in which nothing is wrong.
type sharedRun struct {
	*rapid.T
	events []history.Event
	token  int64
	n      int64 // acquisitions so far
	value  int64
	free   []int64 // since when each client is idle

	resized int64 // when the last change of the number of permits was confirmed
}

func (r *sharedRun) gap(label string) int64 { return rapid.Int64Range(1, 200).Draw(r.T, label) * ms }

// step adds an event of e at that time.
func (r *sharedRun) step(e history.Event, at int64, kind history.Kind, op history.Op, value int64) {
	e.At, e.Kind, e.Op, e.Value = at, kind, op, value
	if op == history.OpAcquire || op == history.OpRelease {
		e.Target = ""
	}
	r.events = append(r.events, e)
}

// grant draws when client c called for what it was granted at that time, and returns what the events of the
// acquisition have in common.
func (r *sharedRun) grant(c int, mode history.Mode, permits, at, token int64) history.Event {
	r.n++
	e := history.Event{
		Process: fmt.Sprintf("c%d", c%3+1),
		Lock:    "l1",
		Acq:     r.n,
		Session: history.SessionID(c + 1),
		Mode:    mode,
	}
	e.Client = fmt.Sprintf("%s/%d", e.Process, c)
	r.step(e, rapid.Int64Range(r.free[c]+1, at).Draw(r.T, "invoked"), history.Invoke, history.OpAcquire, permits)
	e.Token = token
	r.step(e, at, history.OK, history.OpAcquire, permits)
	return e
}

// use draws accesses that begin now, and returns when they are over.
func (r *sharedRun) use(e history.Event, now int64, ops ...history.Op) int64 {
	for _, op := range ops {
		if op == history.OpWrite {
			r.value++
		}
		from := now
		now += r.gap("use")
		r.step(e, from, history.Invoke, op, r.value)
		served := e
		served.Process = "r1"
		r.step(served, (from+now)/2, history.OK, op, r.value)
		r.step(e, now, history.OK, op, r.value)
	}
	return now
}

// release draws how the hold of e is released, and returns when.
func (r *sharedRun) release(e history.Event, c int, now int64) {
	r.step(e, now, history.Invoke, history.OpRelease, 0)
	r.free[c] = max(r.free[c], now+r.gap("release"))
	r.step(e, r.free[c], history.OK, history.OpRelease, 0)
}

// resize draws events of a change of the number of permits, and returns when it had an effect.
func (r *sharedRun) resize(now int64, permits int) (effect int64, number int) {
	e := history.Resizing("l1", permits)
	e.Process, e.At = "c1", max(now, r.resized)+r.gap("resize") // one call after the other
	r.events = append(r.events, e)
	effect = e.At + r.gap("takes effect")
	if rapid.Bool().Draw(r.T, "confirmed") {
		e.Kind, e.At = history.Info, effect+r.gap("confirmation")
		r.events = append(r.events, e)
		r.resized = e.At
	}
	return effect, permits
}

func (r *sharedRun) end(facts *evidence.Facts) []history.Event {
	end := slices.Max(r.free) + ms
	for _, e := range []history.Event{{Op: history.OpPhase, Detail: string(history.PhaseMeasure)},
		{At: end, Op: history.OpPhase, Detail: string(history.PhaseDrain)},
		{At: end, Op: history.OpPhase, Detail: string(history.PhaseCollect)},
		{At: end, Op: history.OpEnd, Detail: string(history.EndComplete)}} {
		e.Process = "harness"
		r.events = append(r.events, e)
	}
	slices.SortStableFunc(r.events, byTime)
	facts.SessionTimeout, facts.Tick, facts.MinAcquired, facts.Guard = 6e9, 1e9, int(r.n), evidence.GuardFencing
	return r.events
}

// validReadWrite draws a run of a queue of readers and writers: one writer at a time, which may continue as a reader,
// or several readers together.
func validReadWrite(t *rapid.T) ([]history.Event, evidence.Facts) {
	r := &sharedRun{T: t, free: make([]int64, rapid.IntRange(2, 5).Draw(t, "clients"))}
	now := int64(0)
	for range rapid.IntRange(3, 12).Draw(t, "turns") {
		over := now
		order := rapid.Permutation([]int{0, 1, 2, 3, 4}[:len(r.free)]).Draw(t, "clients in turn")
		if rapid.Bool().Draw(t, "write") {
			c := order[0]
			r.token += rapid.Int64Range(1, 9).Draw(t, "token")
			at := max(now, r.free[c]+1) + r.gap("hand-off")
			w := r.grant(c, history.ModeWrite, 0, at, r.token)
			over = r.use(w, at, history.OpEnter, history.OpRead, history.OpWrite)
			if rapid.Bool().Draw(t, "downgrade") {
				r.free[c] = over // the read is called for while the write is held
				at := over + 1 + r.gap("downgrade")
				read := r.grant(c, history.ModeRead, 0, at, r.token)
				r.release(w, c, at)
				over = r.use(read, r.free[c], history.OpRead)
				r.release(read, c, over)
			} else {
				r.release(w, c, over)
			}
		} else {
			for _, c := range order[:rapid.IntRange(1, len(order)).Draw(t, "readers")] {
				r.token += rapid.Int64Range(1, 9).Draw(t, "token")
				at := max(now, r.free[c]+1) + r.gap("hand-off")
				read := r.grant(c, history.ModeRead, 0, at, r.token)
				until := r.use(read, at, history.OpEnter, history.OpRead, history.OpExit)
				r.release(read, c, until)
				over = max(over, until)
			}
		}
		now = over
	}
	facts := recipes["queue"]
	return r.end(&facts), facts
}

// validSemaphore draws a run of a semaphore with slots, whose number of permits may change.
func validSemaphore(t *rapid.T) ([]history.Event, evidence.Facts) {
	r := &sharedRun{T: t, free: make([]int64, rapid.IntRange(2, 5).Draw(t, "clients"))}
	slots := make([]int64, rapid.IntRange(1, 4).Draw(t, "permits")) // since when each is free
	now := int64(0)
	permits := len(slots)
	for range rapid.IntRange(3, 25).Draw(t, "grants") {
		if rapid.IntRange(0, 4).Draw(t, "resize") == 0 {
			now, permits = r.resize(now, rapid.IntRange(1, len(slots)).Draw(t, "permits from now on"))
		}
		c := rapid.IntRange(0, len(r.free)-1).Draw(t, "client")
		k := rapid.IntRange(1, permits).Draw(t, "k")
		r.token += rapid.Int64Range(1, 9).Draw(t, "token")
		order := make([]int, len(slots)) // the slots that are free first
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(slots[a], slots[b]) })
		spare := len(slots) - permits // that must be free as well
		now = max(now, slots[order[spare+k-1]], r.free[c]+1) + r.gap("hand-off")
		e := r.grant(c, history.ModePermit, int64(k), now, r.token)
		e.Target = string(history.NewSlot(int64(order[0])))
		until := r.use(e, now, history.OpEnter, history.OpRead, history.OpWrite, history.OpExit)
		r.release(e, c, until)
		for _, s := range order[:k] {
			slots[s] = until
		}
	}
	facts := recipes["queue"]
	facts.Permits = len(slots)
	return r.end(&facts), facts
}

func TestValidSharedRunsPass(t *testing.T) {
	for name, valid := range map[string]func(*rapid.T) ([]history.Event, evidence.Facts){"read-write": validReadWrite,
		"semaphore": validSemaphore} {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			events, facts := valid(t)
			r := Run(history.NewLog(events), facts)
			if r.Verdict != evidence.Pass || *r.Safety.Overlaps != 0 ||
				r.Check(evidence.BeliefExclusion).Result != evidence.Pass ||
				r.Check(evidence.Effect).Result != evidence.Pass {
				t.Fatalf("verdict %s:\n%s", r.Verdict, describeReport(&r))
			}
		}))
	}
}

// following draws two events that first and second accept, the second one later and of another client. It skips a
// history without such events.
func following(t *rapid.T, events []history.Event, first, second func(a, b *history.Event) bool) (a, b int) {
	var all [][2]int
	for i := range events {
		for k := i + 1; k < len(events); k++ {
			if first(&events[i], &events[k]) && second(&events[i], &events[k]) && events[i].Client != events[k].Client {
				all = append(all, [2]int{i, k})
			}
		}
	}
	if len(all) == 0 {
		t.Skip("no such two")
	}
	pair := rapid.SampledFrom(all).Draw(t, "pair")
	return pair[0], pair[1]
}

func TestSharedMutationsAreCaught(t *testing.T) {
	granted := func(e *history.Event) bool { return isGrant(e) }
	served := func(e *history.Event) bool { return e.Process == "r1" }
	for name, m := range map[string]struct {
		valid  func(*rapid.T) ([]history.Event, evidence.Facts)
		mutate func(*rapid.T, []history.Event, *evidence.Facts) ([]history.Event, string)
	}{
		"released late": {validReadWrite, func(t *rapid.T, events []history.Event, _ *evidence.Facts) ([]history.Event,
			string) {
			i, k := following(t, events, func(a, b *history.Event) bool { return granted(a) && granted(b) },
				func(a, b *history.Event) bool { return history.Conflict(a.Mode, b.Mode) })
			for j := range events {
				if e := &events[j]; e.Op == history.OpRelease && e.Kind == history.Invoke && e.Acq == events[i].Acq {
					e.At = events[k].At + 1
				}
			}
			return events, evidence.BeliefExclusion
		}},
		"token of another": {validReadWrite, func(t *rapid.T, events []history.Event, _ *evidence.Facts) ([]history.Event,
			string) {
			i, k := following(t, events, func(a, b *history.Event) bool { return granted(a) && granted(b) },
				func(a, b *history.Event) bool { return true })
			retoken(events, events[k].Acq, events[i].Token)
			return events, evidence.Tokens
		}},
		"fell": {validReadWrite, func(t *rapid.T, events []history.Event, _ *evidence.Facts) ([]history.Event, string) {
			_, k := following(t, events, func(a, b *history.Event) bool { return granted(a) && granted(b) },
				func(a, b *history.Event) bool { return history.Conflict(a.Mode, b.Mode) })
			retoken(events, events[k].Acq, -1)
			return events, evidence.Tokens
		}},
		"stale let in": {validReadWrite, func(t *rapid.T, events []history.Event, _ *evidence.Facts) ([]history.Event,
			string) {
			i, k := following(t, events, func(a, b *history.Event) bool { return served(a) && served(b) },
				func(a, b *history.Event) bool { return history.Conflict(a.Mode, b.Mode) })
			e := events[i]
			e.At, e.Op = events[k].At, history.OpRead
			return append(events, e), evidence.Effect
		}},
		"reader refused": {validReadWrite, func(t *rapid.T, events []history.Event, _ *evidence.Facts) ([]history.Event,
			string) {
			events[pick(t, events, 0, served)].Kind = history.Fail
			return events, evidence.Effect
		}},
		"permit too many": {validSemaphore, func(t *rapid.T, events []history.Event, f *evidence.Facts) ([]history.Event,
			string) {
			var taken, most int64 // what is given back counts first, at one instant
			var changes []history.Event
			k := map[int64]int64{}
			for _, e := range events {
				switch {
				case granted(&e):
					k[e.Acq] = e.Value
					changes = append(changes, history.Event{At: e.At, Value: e.Value})
				case e.Op == history.OpRelease && e.Kind == history.Invoke:
					changes = append(changes, history.Event{At: e.At, Value: -k[e.Acq]})
				}
			}
			slices.SortStableFunc(changes, func(a, b history.Event) int {
				return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Value, b.Value))
			})
			for _, c := range changes {
				taken += c.Value
				most = max(most, taken)
			}
			if most == 1 {
				t.Skip("never two at once")
			}
			f.Permits = int(most) - 1
			events = slices.DeleteFunc(events, func(e history.Event) bool { return e.Op == history.OpResize })
			return events, evidence.BeliefExclusion
		}},
		"slot of another": {validSemaphore, func(t *rapid.T, events []history.Event, _ *evidence.Facts) ([]history.Event,
			string) {
			i, k := following(t, events, func(a, b *history.Event) bool { return served(a) && served(b) },
				func(a, b *history.Event) bool { return a.Target == b.Target })
			e := events[i]
			e.At, e.Op = events[k].At, history.OpRead
			return append(events, e), evidence.Effect
		}},
		"permit refused": {validSemaphore, func(t *rapid.T, events []history.Event, _ *evidence.Facts) ([]history.Event,
			string) {
			events[pick(t, events, 0, served)].Kind = history.Fail
			return events, evidence.Effect
		}},
	} {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			events, facts := m.valid(t)
			broken, check := m.mutate(t, events, &facts)
			broken = onOneHost(broken)
			r := Run(history.NewLog(broken), facts)
			if v := r.Check(check); v.Result != evidence.Fail || r.Verdict != evidence.Fail {
				t.Fatalf("%s says %s; verdict %s:\n%s", check, v.Result, r.Verdict, describeReport(&r))
			}
		}))
	}
}

// drawPermits draws holds of permits in the order in which they begin, with a token each.
func drawPermits(t *rapid.T) []effect.Hold {
	tokens := rapid.Permutation([]int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}).Draw(t, "tokens")
	var holds []effect.Hold
	for _, token := range tokens[:rapid.IntRange(0, len(tokens)).Draw(t, "holds")] {
		from := rapid.Int64Range(0, 30).Draw(t, "from")
		holds = append(holds, effect.Hold{
			From:  from,
			Until: from + rapid.Int64Range(0, 15).Draw(t, "length"),
			By: &history.Acquisition{Token: token, Claimant: &history.Claimant{Mode: history.ModePermit,
				Client: fmt.Sprintf("c1/%d", token), Permits: rapid.Int64Range(1, 3).Draw(t, "k")}}})
	}
	slices.SortStableFunc(holds, func(a, b effect.Hold) int { return cmp.Compare(a.From, b.From) })
	return holds
}

type excess struct {
	older, newer       *history.Acquisition
	from, until, taken int64
}

// TestExcessAgainstOracle compares eachExcess with the definition, which looks at all the holds at the beginning of
// each hold.
func TestExcessAgainstOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		holds := drawPermits(t)
		limit := rapid.Int64Range(1, 4).Draw(t, "limit")
		gone := func(older, newer *history.Acquisition) bool { return older.Token < newer.Token && older.Token%3 == 0 }
		var want []excess
		for i, h := range holds {
			var here []effect.Hold
			taken := int64(0)
			for _, o := range holds[:i+1] {
				if o.Until > h.From && o.Until > o.From {
					here = append(here, o)
					taken += o.By.Permits
				}
			}
			if h.Until <= h.From || taken <= limit {
				continue
			}
			until := h.From
			for left := taken; left > limit; until++ {
				left = 0
				for _, o := range here {
					if o.Until > until+1 {
						left += o.By.Permits
					}
				}
			}
			slices.SortFunc(here, func(a, b effect.Hold) int { return cmp.Compare(a.By.Token, b.By.Token) })
			newest := here[len(here)-1]
			older := here[:len(here)-1]
			slices.SortStableFunc(older, func(a, b effect.Hold) int {
				return -cmp.Compare(b2i(gone(a.By, newest.By)), b2i(gone(b.By, newest.By)))
			})
			if len(older) == 0 {
				older = []effect.Hold{newest}
			}
			covered := int64(0)
			for _, o := range older {
				if covered >= taken-limit {
					break
				}
				covered += o.By.Permits
				if !slices.ContainsFunc(want, func(e excess) bool { return e.older == o.By && e.newer == newest.By }) {
					want = append(want, excess{o.By, newest.By, h.From, min(until, o.Until, newest.Until), taken})
				}
			}
		}
		var got []excess
		always := func(int64, int64) int64 { return limit }
		eachExcess(holds, always, gone, func(older, newer *effect.Hold, from, until, taken, _ int64) {
			got = append(got, excess{older.By, newer.By, from, until, taken})
		})
		if !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

// One acquisition of several locks is told from several acquisitions with one number.
func TestTakenTogether(t *testing.T) {
	none := history.None
	acq := func(client, lock string, n, invoked, returned, died int64) history.Acquisition {
		return history.Acquisition{Claimant: &history.Claimant{Client: client, Lock: lock}, N: n, Invoked: invoked,
			Returned: returned, Trouble: &history.Trouble{Died: died}}
	}
	all := []history.Acquisition{
		acq(
			"a",
			"l1",
			1,
			1,
			5,
			none,
		), acq("b", "l1", 1, 1, none, none), acq("a", "l2", 1, 2, 6, none), acq("a", "l3", 1, 2, none, none),
		// three at once
		acq("a", "l1", 2, 8, 9, none),                                // by itself
		acq("c", "l1", 1, 1, 3, none), acq("c", "l2", 1, 4, 5, none), // one after the other
		acq("d", "l1", 1, 1, none, 5), acq("d", "l2", 1, 6, none, none), // of two processes
	}
	got := (&evidence.Digest{Acquisitions: all}).TakenTogether()
	for i := range all {
		if want := all[i].Client == "a" && all[i].N == 1; got[&all[i]] != want {
			t.Errorf("%+v: %v", all[i], got[&all[i]])
		}
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Where grants return in order, one permit and an exclusive hold are the same.
func TestOnePermitIsAMutex(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		holds := drawPermits(t)
		for i := range holds {
			holds[i].By.Permits, holds[i].By.Token = 1, int64(i+1)
		}
		var permits, exclusive []excess
		eachExcess(
			holds,
			func(int64, int64) int64 { return 1 },
			func(_, _ *history.Acquisition) bool { return false },
			func(older, newer *effect.Hold, from, until, _, _ int64) {
				permits = append(permits, excess{older: older.By, newer: newer.By, from: from})
			},
		)
		for i := range holds {
			holds[i].By.Mode = history.ModeExclusive
		}
		effect.EachOverlap(holds, func(a, b *effect.Hold) {
			exclusive = append(exclusive, excess{older: a.By, newer: b.By, from: b.From})
		})
		if !slices.Equal(permits, exclusive) {
			t.Fatalf("as permits %v, as a mutex %v", permits, exclusive)
		}
	})
}
