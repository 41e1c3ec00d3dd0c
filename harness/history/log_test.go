package history

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// randomEvents draws events in the order in which some process might have recorded them: nearly that of time.
func randomEvents(rng *rand.Rand, n int) []Event {
	ops := []Op{OpAcquire, OpAttempt, OpQueued, OpWrite, OpPhase, "of-a-later-version"}
	texts := []string{"", "", "", "/l", "/m", "a text\nof lines"}
	text := func() string { return texts[rng.IntN(len(texts))] }
	number := func() int64 {
		return []int64{0, 1, rng.Int64N(1000), rng.Int64(), -1, math.MaxInt64, math.MinInt64}[rng.IntN(7)]
	}
	all := make([]Event, n)
	for i := range all {
		late := max(0, rng.Int64N(20)-15) * rng.Int64N(300)
		all[i] = Event{At: int64(i/2) - late, Process: fmt.Sprint("c", rng.IntN(3)), Kind: Kind(rng.IntN(5)),
			Op: ops[rng.IntN(len(ops))], Client: text(), Acq: number(), Lock: text(), Mode: Mode(text()), Token: number(),
			Session: SessionID(number()), Value: number(), Target: text(), Fault: text(), Detail: text()}
		if n > mostTexts || rng.IntN(4) == 0 {
			all[i].Target = fmt.Sprint(rng.Int64())
		}
		if rng.IntN(100) == 0 {
			all[i].Detail = strings.Repeat("long", 1000)
		}
	}
	return all
}

func sorted(events []Event) []Event {
	events = slices.Clone(events)
	slices.SortStableFunc(events, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
	return events
}

// A log has what the sorted slice of its events has.
func TestLog(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{0, 1, blockEvents, blockEvents + 1, 3000, mostTexts + mostTexts/4} {
		events := randomEvents(rng, n)
		l, want := NewLog(events), sorted(events)
		if !slices.Equal(want, l.Events()) || l.Len() != n {
			t.Fatalf("%d of %d events differ from the sorted ones", l.Len(), n)
		}
		var end int64
		kinds := map[string]int{}
		for _, e := range want {
			end = max(end, e.At)
			kinds[fmt.Sprint(e.Op, e.Kind)]++
		}
		if l.End() != end {
			t.Errorf("the end is %d, want %d", l.End(), end)
		}
		for _, op := range []Op{OpAcquire, "of-a-later-version", "none"} {
			at, numbers := 0, 0
			for i, e := range l.Of(op) {
				if e.Op != op || e != want[i] || i < at {
					t.Fatalf("event %d is %v, want %v", i, e, want[i])
				}
				at = i
				numbers++
			}
			of := func(e Event) bool { return e.Op == op }
			if left := slices.DeleteFunc(slices.Clone(want), func(e Event) bool { return !of(e) }); numbers != len(left) {
				t.Errorf("%d events of %s, want %d", numbers, op, len(left))
			}
			first, found := l.First(op)
			if i := slices.IndexFunc(want, of); found != (i >= 0) || found && first != want[i] {
				t.Errorf("the first of %s is %v", op, first)
			}
			for kind := range Fail + 1 {
				if n := kinds[fmt.Sprint(op, kind)]; l.Count(op, kind) != n {
					t.Errorf("%d of %s %v, want %d", l.Count(op, kind), op, kind, n)
				}
			}
		}
		for range 20 {
			at := rng.Int64N(int64(n)/2+3) - 1
			i := slices.IndexFunc(want, func(e Event) bool { return e.At >= at })
			for k, e := range l.Since(at) {
				if k != i || e != want[i] {
					t.Fatalf("since %d: event %d is %v, want %d", at, k, e, i)
				}
				if i++; i > k+300 || i == len(want) {
					break
				}
			}
			if i == 0 && n > 0 && want[0].At >= at {
				t.Errorf("since %d: nothing", at)
			}
		}
	}
}

// Files whose events are not quite in the order of time are merged like one slice of all events that is sorted.
func TestMerge(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for range 20 {
		dir := t.TempDir()
		const base = 10
		all := []Event{Begins(base, "s", "r")}
		all[0].At = base
		all[0].Process = "a"
		files := map[string][]Event{"a": all}
		for _, name := range []string{"b", "c", "d"} {
			files[name] = randomEvents(rng, rng.IntN(2000))
		}
		var want []Event
		for _, name := range []string{"a", "b", "c", "d"} {
			var b []byte
			for _, e := range files[name] {
				b = append(b, Encode(e)...)
			}
			if err := os.WriteFile(filepath.Join(dir, name+SegmentSuffix), b, 0o644); err != nil {
				t.Fatal(err)
			}
			want = append(want, files[name]...)
		}
		want = sorted(want)
		for i := range want {
			want[i].At -= base
			want[i].Target = strings.ToUpper(want[i].Target)
		}
		got, records, err := ReadRaw(dir, strings.ToUpper)
		if err != nil {
			t.Fatal(err)
		}
		upper := got.Events()
		for i := range upper {
			// The other texts are upper case as well; the target is enough to tell that the function is called.
			if i < len(want) && upper[i].At == want[i].At && upper[i].Target == want[i].Target &&
				upper[i].Value == want[i].Value && upper[i].Acq == want[i].Acq &&
				string(upper[i].Op) == strings.ToUpper(string(want[i].Op)) {
				continue
			}
			t.Fatalf("event %d is %v", i, upper[i])
		}
		if len(upper) != len(want) {
			t.Errorf("%d events, want %d", len(upper), len(want))
		}
		for _, r := range records {
			if name := strings.TrimSuffix(r.File, SegmentSuffix); r.Events != int64(len(files[name])) || r.Torn != 0 {
				t.Errorf("%+v, want %d events", r, len(files[name]))
			}
		}
	}
}

// An attempt's GUID is kept apart from the rest of the prefix. Whatever a prefix looks like, it comes back as it was.
func TestGUIDsComeBack(t *testing.T) {
	guid := "0123456789abcdef0123456789abcdef"
	var events []Event
	for _, detail := range []string{
		"_c_" + guid + "-lock-", "_c_" + guid, "_c_" + guid + "-lease-", "_c_" + strings.ToUpper(guid) + "-lock-",
		"_c_" + guid[:31], "_c_" + guid[:31] + "g-lock-", guid, "_c_01234567-89ab-cdef-0123-456789abcdef-lock-", "_c_", "",
	} {
		events = append(events, Event{Op: OpAttempt, Detail: detail}, Event{Op: OpAcquire, Kind: Info, Detail: detail})
	}
	l := NewLog(events)
	if got := l.Events(); !slices.Equal(got, events) {
		t.Errorf("got %v\nwant %v", got, events)
	}
	for _, e := range l.Of(OpAcquire) { // past the attempts, undecoded
		if !slices.Contains(events, e) {
			t.Errorf("%v was never recorded", e)
		}
	}
	attempts, size := 1000, 0
	for _, b := range NewLog(slices.Repeat(events[:1], attempts)).blocks {
		size += len(b.data)
	}
	if size > 24*attempts {
		t.Errorf("an attempt takes %d bytes", size/attempts)
	}
}
