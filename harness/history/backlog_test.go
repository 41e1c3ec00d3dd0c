package history

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// fill records until the history has so many segments, and returns how many events it recorded.
func fill(t *testing.T, rec *Recorder, segments int64) int {
	t.Helper()
	detail := strings.Repeat("x", maxFrame-1000)
	n := 0
	for ; rec.segments.Load() < segments; n++ {
		if err := rec.Record(Event{Op: OpLost, Acq: int64(n), Detail: detail}); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// A recorder whose history is being collected waits while the rest is long, and records the wait. If nobody collects
// the history, it never waits.
func TestAwaitCollector(t *testing.T) {
	dir := t.TempDir()
	rec, err := NewRecorder(dir, "c1", NewClock())
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Close()
	fill(t, rec, mostUncollected+2)
	if err := rec.AwaitCollector(t.Context()); err != nil {
		t.Fatalf("without a collector: %v", err)
	}
	out := NewOutbox(dir)
	if err := out.Collected(segmentSize); err != nil { // one segment
		t.Fatal(err)
	}
	waited := make(chan error, 2)
	wait := func(ctx context.Context) { waited <- rec.AwaitCollector(ctx) }
	waits := func() {
		for len(rec.backlog.turn) == 0 { // until one has the turn
			select {
			case err := <-waited:
				t.Fatalf("did not wait: %v", err)
			default:
				runtime.Gosched()
			}
		}
	}
	over := errors.New("the window closed")
	ctx, cancel := context.WithCancelCause(t.Context())
	go wait(ctx)
	waits()
	cancel(over)
	if err := <-waited; !errors.Is(err, over) {
		t.Fatalf("with %d segments to collect: %v", mostUncollected+1, err)
	}
	go wait(t.Context())
	go wait(t.Context())
	waits()
	if err := out.Collected((mostUncollected/2 + 2) * segmentSize); err != nil {
		t.Fatal(err)
	}
	for range cap(waited) {
		if err := <-waited; err != nil {
			t.Error(err)
		}
	}
	if err := rec.AwaitCollector(ctx); err != nil {
		t.Errorf("with little to collect: %v", err)
	}
	tail, _, err := out.Tail((mostUncollected + 1) * segmentSize)
	if err != nil {
		t.Fatal(err)
	}
	defer tail.Close()
	recorded := 0
	for _, e := range drain(t, tail) {
		if e.Op == OpSlowed {
			recorded++
		}
	}
	if recorded < 1 || recorded > 2 {
		t.Errorf("%d waits are recorded", recorded)
	}
}

// A history can be read from any byte that has not been collected, and from no other.
func TestOutbox(t *testing.T) {
	dir := t.TempDir()
	out := NewOutbox(filepath.Join(dir, "later"))
	if tail, skip, err := out.Tail(100); err != nil || skip != 100 || len(drain(t, tail)) != 0 {
		t.Errorf("a history that does not exist yet: skip %d, %v", skip, err)
	}
	rec, err := NewRecorder(dir, "c1", NewClock())
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Close()
	recorded := fill(t, rec, 4)
	var whole []byte
	all := NewTailer(dir)
	defer all.Close()
	for {
		b, err := all.Next()
		if err != nil {
			t.Fatal(err)
		}
		if len(b) == 0 {
			break
		}
		whole = append(whole, b...)
	}
	events, rest, err := Decode(nil, whole, map[string]string{})
	if err != nil || len(events) != recorded || len(rest) > 0 {
		t.Fatalf("%d events of %d, %v", len(events), recorded, err)
	}
	out = NewOutbox(dir)
	for _, offset := range []int{0, 1, segmentSize / 2, segmentSize - 1, segmentSize + 100, len(whole) - 1, len(whole)} {
		for _, collected := range []bool{false, true} {
			if collected {
				if err := out.Collected(int64(offset)); err != nil {
					t.Fatal(err)
				}
			}
			tail, skip, err := out.Tail(int64(offset))
			if err != nil {
				t.Fatal(err)
			}
			var got []byte
			for b, err := tail.Next(); len(b) > 0 || err != nil; b, err = tail.Next() {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, b...)
			}
			if int64(len(got))-skip != int64(len(whole)-offset) || string(got[skip:]) != string(whole[offset:]) {
				t.Errorf("from byte %d: %d bytes after %d, want %d", offset, len(got), skip, len(whole)-offset)
			}
			if err := tail.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	for n, gone := range []bool{true, true, true, false} {
		if _, err := os.Stat(segmentName(dir, int64(n))); errors.Is(err, fs.ErrNotExist) != gone {
			t.Errorf("segment %d: %v, want it gone: %v", n, err, gone)
		}
	}
	if _, _, err := out.Tail(5); err == nil || !strings.Contains(err.Error(), "from byte 5 on") {
		t.Errorf("what was collected can be read again: %v", err)
	}
	if err := out.Collected(5); err == nil {
		t.Error("what was collected can be collected again")
	}
}
