package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"locklab/harness/history"
)

// raw encodes events as a recorder writes them.
func raw(t rapid.TB, dir string, events []history.Event) []byte {
	t.Helper()
	rec, err := history.NewRecorder(dir, "c1", history.NewClock())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if err := rec.Record(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "000000"+history.SegmentSuffix))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The view counts each pair of holds that overlapped once, however the stream
// that it is fed with is cut.
func TestLiveCountsOverlaps(t *testing.T) {
	outer, n := t.TempDir(), 0
	rapid.Check(t, func(t *rapid.T) {
		var events []history.Event
		began := map[string]int64{}
		var holds []hold
		at := int64(0)
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			at += rapid.Int64Range(1, int64(400*time.Millisecond)).Draw(t, "later")
			c := rapid.SampledFrom([]string{"c1/0", "c1/1", "c2/0"}).Draw(t, "client")
			e := history.Event{At: at, Client: c, Lock: "/l"}
			if from, holding := began[c]; holding {
				e.Op, e.Kind = history.OpRelease, history.Invoke
				if rapid.Bool().Draw(t, "lost") {
					e.Op, e.Kind = history.OpLost, history.Info
				}
				holds = append(holds, hold{c, from, at})
				delete(began, c)
			} else {
				events = append(events, history.Event{At: at, Client: c, Lock: "/l", Op: history.OpAcquire, Kind: history.Invoke})
				e.Op, e.Kind = history.OpAcquire, history.OK
				began[c] = at
			}
			events = append(events, e)
		}
		want := 0
		for i, a := range holds {
			for _, b := range holds[:i] {
				if a.from < b.until && b.from < a.until {
					want++
				}
			}
		}
		n++
		l := newLive()
		f := l.feed()
		for b := raw(t, filepath.Join(outer, fmt.Sprint(n)), events); len(b) > 0; {
			cut := rapid.IntRange(1, len(b)).Draw(t, "cut")
			if _, err := f.Write(b[:cut]); err != nil {
				t.Fatal(err)
			}
			b = b[cut:]
		}
		if l.overlaps != want || l.acquired != len(holds)+len(began) {
			t.Fatalf("%d overlaps of %d, %d acquired of %d", l.overlaps, want, l.acquired, len(holds)+len(began))
		}
	})
}

// Who waits for something is woken when it happens, and told why if it does not.
func TestLiveWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLive()
		ctx, cancel := context.WithCancelCause(t.Context())
		got := make(chan error, 2)
		go func() { got <- l.Superseded(ctx, "/l", 7) }()
		serve := func(lock string, token int64, kind history.Kind) {
			l.add([]history.Event{{Process: resourceHost, Op: history.OpRead, Kind: kind, Lock: lock, Token: token}})
			synctest.Wait()
		}
		serve("/other", 9, history.OK)
		serve("/l", 9, history.Fail)
		serve("/l", 7, history.OK)
		select {
		case err := <-got:
			t.Fatalf("superseded by nothing: %v", err)
		default:
		}
		serve("/l", 8, history.OK)
		if err := <-got; err != nil {
			t.Error(err)
		}
		go func() { _, err := l.Triggered(ctx, "f1"); got <- err }()
		synctest.Wait()
		cancel(ErrInterrupted)
		if err := <-got; !errors.Is(err, ErrInterrupted) {
			t.Errorf("got %v", err)
		}
	})
}

// A process that was restarted has not ended.
func TestLiveExited(t *testing.T) {
	l := newLive()
	process := func(mode, how string) {
		l.add([]history.Event{{Process: "c1", Op: history.OpProcess, Mode: mode, Detail: how}})
	}
	process(history.ProcessStarted, "")
	process(history.ProcessExited, "killed")
	if l.exited["c1"] != "killed" {
		t.Errorf("exited: %v", l.exited)
	}
	process(history.ProcessStarted, "")
	if _, gone := l.exited["c1"]; gone {
		t.Error("gone, though it was started again")
	}
}

// Progress comes once a second while a run goes on, and says what happened since.
func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLive()
		var told []Progress
		r := newReporter(l, func(p Progress) { told = append(told, p) })
		r.setPhase(history.PhaseMeasure)
		r.setFaults([]string{"pause c1", "kill zk2"})
		go r.run(time.Now())
		at := int64(1)
		acquire := func(n int) {
			for range n {
				at += int64(time.Second)
				l.add([]history.Event{{At: at, Client: "c1/0", Lock: "/l", Op: history.OpAcquire, Kind: history.Invoke},
					{At: at + int64(5*time.Millisecond), Client: "c1/0", Lock: "/l", Op: history.OpAcquire, Kind: history.OK},
					{At: at + 1 + int64(5*time.Millisecond), Client: "c1/0", Lock: "/l", Op: history.OpRelease, Kind: history.Invoke}})
			}
		}
		acquire(200)
		time.Sleep(1500 * time.Millisecond) // virtual
		acquire(50)
		time.Sleep(time.Second)
		r.end()
		if len(told) != 2 || told[0].Rate != 200 || told[1].Rate != 50 || told[1].Acquired != 250 {
			t.Fatalf("told %+v", told)
		}
		if p := told[0]; p.P99 < 4*time.Millisecond || p.P99 > 6*time.Millisecond || p.Elapsed != time.Second {
			t.Errorf("first: %+v", p)
		}
		if told[1].P99 != 0 {
			t.Errorf("a 99th percentile of 50 samples: %v", told[1].P99)
		}
		const want = "  2.0s measure      50 acquired/s  p99 -         faults: pause c1; kill zk2  overlaps: 0"
		if got := told[1].String(); got != want {
			t.Errorf("line %q, want %q", got, want)
		}
	})
}
