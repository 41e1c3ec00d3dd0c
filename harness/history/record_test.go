package history

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// recordOf records events, ends the recorder in a way, and returns what the one file says about itself.
func recordOf(t *testing.T, end func(*Recorder) error, events ...Event) Record {
	t.Helper()
	dir := t.TempDir()
	rec, err := NewRecorder(filepath.Join(dir, "c1"), "c1", NewClock())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range append([]Event{{At: 1, Op: OpBegin}}, events...) {
		_ = rec.Record(e) // one is refused
	}
	if err := end(rec); (err != nil) != (len(events) > 1) {
		t.Error(err)
	}
	_, records, err := ReadRaw(dir, nil)
	if err != nil || len(records) != 1 {
		t.Fatal(records, err)
	}
	return records[0]
}

// An end mark counts the events before it. A recorder that is only closed leaves none, and neither does one that
// refused an event.
func TestEndMark(t *testing.T) {
	tooLong := Event{Op: OpLost, Target: strings.Repeat("t", maxFrame)}
	if r := recordOf(t, (*Recorder).End, Done()); !r.Ends || r.Recorded != 2 || r.Events != 2 || !r.Done {
		t.Errorf("ended: %+v", r)
	}
	if r := recordOf(t, (*Recorder).Close, Done()); r.Ends || r.Events != 2 {
		t.Errorf("closed: %+v", r)
	}
	if r := recordOf(t, (*Recorder).End, tooLong, Ready(1)); r.Ends || r.Events != 2 {
		t.Errorf("an event was refused: %+v", r)
	}
}

// An end mark that is not the last event of a file does not end the record, and a heading that is not the first does
// not name it.
func TestMarksInTheMiddle(t *testing.T) {
	dir := t.TempDir()
	heading := Heading{Run: "a-1", File: "c1/process.hist"}
	for name, events := range map[string][]Event{
		"a": {heading.Event(), Begins(1, "s", "a-1"), endMark(1, 0)},
		"b": {Ready(1), endMark(1, 0), heading.Event()},
	} {
		var b []byte
		for _, e := range events {
			b = append(b, Encode(e)...)
		}
		if err := os.WriteFile(filepath.Join(dir, name+SegmentSuffix), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	_, records, err := ReadRaw(dir, nil)
	if err != nil || len(records) != 2 {
		t.Fatal(records, err)
	}
	if r := records[0]; r.Heading != heading || !r.Ends || r.Events != 1 {
		t.Errorf("%+v", r)
	}
	if r := records[1]; r.Heading != (Heading{}) || r.Ends || r.Events != 1 {
		t.Errorf("%+v", r)
	}
}
