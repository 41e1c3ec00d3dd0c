package history

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// drain reads everything that a tailer finds now.
func drain(t rapid.TB, tail *Tailer) []Event {
	t.Helper()
	var events []Event
	for {
		b, err := tail.Next()
		if err != nil {
			t.Fatal(err)
		}
		if len(b) == 0 {
			return events
		}
		var rest []byte
		if events, rest, err = Decode(events, b, map[string]string{}); err != nil || len(rest) > 0 {
			t.Fatalf("tailer returned %d bytes that are no whole frames: %v", len(rest), err)
		}
	}
}

// eventGen draws events with every field, of sizes from nothing to several segments.
func eventGen() *rapid.Generator[Event] {
	text := rapid.OneOf(rapid.Just(""), rapid.String(),
		rapid.SampledFrom([]string{"c1/3", "/run1/lock0", "a\x00b", strings.Repeat("x", 5000)}))
	return rapid.Custom(func(t *rapid.T) Event {
		return Event{
			At:      rapid.Int64().Filter(func(n int64) bool { return n != 0 }).Draw(t, "at"),
			Process: rapid.SampledFrom([]string{"c1", "zk1", "harness"}).Draw(t, "process"),
			Kind:    Kind(rapid.IntRange(int(Info), int(Fail)).Draw(t, "kind")),
			Op:      Op(text.Draw(t, "op")), Client: text.Draw(t, "client"), Lock: text.Draw(t, "lock"),
			Mode: Mode(
				text.Draw(t, "mode"),
			), Target: text.Draw(t, "target"), Fault: text.Draw(t, "fault"), Detail: text.Draw(t, "detail"),
			Acq: rapid.Int64().Draw(t, "acq"), Token: rapid.Int64().Draw(t, "token"), Value: rapid.Int64().Draw(t, "value"),
			Session: SessionID(rapid.Int64().Draw(t, "session")),
		}
	})
}

// A tailer returns what was recorded, whatever the events contain and however its reads fall between the writes.
func TestRoundTrip(t *testing.T) {
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		dir := filepath.Join(dir, fmt.Sprint(n))
		rec, err := NewRecorder(dir, "c1", NewClock())
		if err != nil {
			t.Fatal(err)
		}
		tail := NewTailer(dir)
		defer tail.Close()
		var got []Event
		want := rapid.SliceOfN(eventGen(), 0, 20).Draw(t, "events")
		for i := range want {
			if err := rec.Record(want[i]); err != nil {
				t.Fatal(err)
			}
			if rapid.Bool().Draw(t, "read") {
				got = append(got, drain(t, tail)...)
			}
		}
		if err := rec.Close(); err != nil {
			t.Fatal(err)
		}
		got = append(got, drain(t, tail)...)
		if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("read other than written (-written +read):\n%s", d)
		}
	})
}

// An event without time and process gets the recorder's.
func TestRecordStamps(t *testing.T) {
	dir, clock := t.TempDir(), NewClock()
	rec, err := NewRecorder(dir, "c1", clock)
	if err != nil {
		t.Fatal(err)
	}
	before := clock.Now()
	if err := rec.Record(Event{Op: OpReady}); err != nil {
		t.Fatal(err)
	}
	after := clock.Now()
	got := drain(t, NewTailer(dir))
	if len(got) != 1 || got[0].Process != "c1" || got[0].At < before || got[0].At > after {
		t.Errorf("recorded %v between %d and %d", got, before, after)
	}
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	if err := rec.Record(Event{Op: OpReady}); err == nil {
		t.Error("a closed recorder took an event")
	}
	if _, err := NewRecorder(dir, "c1", clock); err == nil {
		t.Error("a second history was begun in the directory of the first")
	}
}

// Everybody who waits for the next event learns of it, once it can be read.
func TestGrown(t *testing.T) {
	dir := t.TempDir()
	rec, err := NewRecorder(dir, "c1", NewClock())
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Close()
	tail := NewTailer(dir)
	defer tail.Close()
	var waiting sync.WaitGroup
	for range 3 {
		grown := rec.Grown()
		waiting.Go(func() { <-grown })
	}
	if err := rec.Record(Event{Op: OpReady}); err != nil {
		t.Fatal(err)
	}
	waiting.Wait()
	if got := drain(t, tail); len(got) != 1 {
		t.Errorf("read %d events, want 1", len(got))
	}
	select {
	case <-rec.Grown():
		t.Error("it has grown again without another event")
	default:
	}
}

// A detail that is too long is cut, and an event that is too long without it is refused. Neither harms the events that
// follow.
func TestRecordTooLong(t *testing.T) {
	dir := t.TempDir()
	rec, err := NewRecorder(dir, "c1", NewClock())
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Close()
	if err := rec.Record(Event{Op: OpLost, Detail: strings.Repeat("d", 2*maxFrame)}); err != nil {
		t.Error(err)
	}
	for _, size := range []int{maxFrame, 2 * segmentSize} {
		if err := rec.Record(Event{Op: OpLost, Target: strings.Repeat("t", size)}); err == nil {
			t.Errorf("an event of %d bytes was taken", size)
		}
	}
	if err := rec.Record(Event{Op: OpReady}); err != nil {
		t.Error(err)
	}
	got := drain(t, NewTailer(dir))
	if len(got) != 2 || got[1].Op != OpReady {
		t.Fatalf("got %d events", len(got))
	}
	if n := len(got[0].Detail); n < maxFrame-1000 || n > maxFrame {
		t.Errorf("detail was cut to %d bytes", n)
	}
}

// Many goroutines record at once, over several segments, while a tailer follows: it sees every event of each goroutine
// once and in order.
func TestConcurrentRecorders(t *testing.T) {
	dir := t.TempDir()
	rec, err := NewRecorder(dir, "c1", NewClock())
	if err != nil {
		t.Fatal(err)
	}
	const writers, each = 8, 2000
	detail := strings.Repeat("x", 1000) // 16 MB in all: several segments
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				if err := rec.Record(Event{Op: OpAcquire, Client: fmt.Sprint(w), Acq: int64(i), Detail: detail}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	written := make(chan struct{})
	go func() { wg.Wait(); close(written) }()
	tail := NewTailer(dir)
	defer tail.Close()
	next := map[string]int64{}
	take := func() {
		for _, e := range drain(t, tail) {
			if e.Acq != next[e.Client] || e.Detail != detail {
				t.Fatalf("writer %s: event %d came after %d", e.Client, e.Acq, next[e.Client]-1)
			}
			next[e.Client]++
		}
	}
	for done := false; !done; {
		select {
		case <-written:
			done = true
		default:
		}
		take()
	}
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	take()
	for w := range writers {
		if n := next[fmt.Sprint(w)]; n != each {
			t.Errorf("writer %d: %d events of %d", w, n, each)
		}
	}
	segments, err := filepath.Glob(filepath.Join(dir, "*"+SegmentSuffix))
	if err != nil || len(segments) < 3 {
		t.Errorf("%d segments (%v), want several", len(segments), err)
	}
	var size int64
	for _, s := range segments {
		if st, err := os.Stat(s); err == nil {
			size += st.Size()
		}
	}
	if whole := int64(writers * each * 1000); size < whole || size > whole+whole/10 {
		t.Errorf("segments take %d bytes for %d of detail: they were not cut", size, whole)
	}
}

// Recording must not disturb what is measured.
func TestRecordAllocatesNothing(t *testing.T) {
	rec, err := NewRecorder(t.TempDir(), "c1", NewClock())
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Close()
	e := Event{
		Kind:    OK,
		Op:      OpAcquire,
		Client:  "c1/17",
		Acq:     12345,
		Lock:    "/run1/lock0",
		Token:   1 << 33,
		Session: 1 << 60,
	}
	if n := testing.AllocsPerRun(1000, func() {
		if err := rec.Record(e); err != nil {
			t.Error(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations a record", n)
	}
}

func BenchmarkRecord(b *testing.B) {
	rec, err := NewRecorder(b.TempDir(), "c1", NewClock())
	if err != nil {
		b.Fatal(err)
	}
	defer rec.Close()
	e := Event{
		Kind:    OK,
		Op:      OpAcquire,
		Client:  "c1/17",
		Acq:     12345,
		Lock:    "/run1/lock0",
		Token:   1 << 33,
		Session: 1 << 60,
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := rec.Record(e); err != nil {
			b.Fatal(err)
		}
	}
}

// A string that occurs once is not kept to share it with other events, because a reader's memory would grow with every
// acquisition.
func TestDecodeKeepsNoAttempts(t *testing.T) {
	dir := t.TempDir()
	rec, err := NewRecorder(dir, "c1", NewClock())
	if err != nil {
		t.Fatal(err)
	}
	const attempts = 20
	for i := range attempts {
		for _, e := range []Event{{Op: OpAttempt, Detail: fmt.Sprintf("_c_%d", i)}, {Op: OpLost, Detail: "gone"}} {
			if err := rec.Record(e); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "000000"+SegmentSuffix))
	if err != nil {
		t.Fatal(err)
	}
	intern := map[string]string{}
	events, _, err := Decode(nil, b, intern)
	if err != nil || len(events) != 2*attempts {
		t.Fatalf("%d events, %v", len(events), err)
	}
	if last := events[2*attempts-2].Detail; last != fmt.Sprintf("_c_%d", attempts-1) {
		t.Errorf("the last attempt is %q", last)
	}
	if intern["gone"] == "" || len(intern) > 6 { // besides it: the ops, the process and the empty string
		t.Errorf("%d strings are kept: %v", len(intern), intern)
	}
}
