package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// A record is read back as it was written.
func TestRecord(t *testing.T) {
	r := Record{Begin: Usage{100, 5, 2048}, End: Usage{200, 9, 4096}, Holds: []Hold{{90, 110, 120}, {95, 125, 130}}}
	name := filepath.Join(t.TempDir(), recordFile)
	if err := r.write(name); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got, err := ReadRecord(f)
	if err != nil || !reflect.DeepEqual(got, r) {
		t.Errorf("got %+v, %v", got, err)
	}
}

// A file that is not a record is refused, with the number of the bad line.
func TestBadRecords(t *testing.T) {
	for text, want := range map[string]string{
		"":                   "without a measured time",
		"1 2 3\n":            "without a measured time",
		"5 2 3\n5 2 3\n":     "without a measured time",
		"1 2 3\n2 2 3\n1 2":  "line 3",
		"1 2 3\n2 x 3\n":     "line 2",
		"1 2 3 4\n2 3 4\n":   "line 1",
		"1 2 3\n2 2 3\n\n1 ": "line 3",
	} {
		if _, err := ReadRecord(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// These are the figures of two clients that take turns every 10 ms, for a second that begins after the first ten of
// their holds and ends before the last.
func TestFigures(t *testing.T) {
	const turn = int64(10 * time.Millisecond)
	var r Record
	for i := range int64(120) {
		// Each client asks again as soon as it has released, which takes 1 ms; one waits while the other holds.
		asked := max(0, (i-2)*turn+turn/10)
		r.Holds = append(r.Holds, Hold{Asked: asked, Granted: i * turn, Released: i*turn + turn/10})
	}
	r.Begin, r.End = Usage{At: 10 * turn, Ticks: 7}, Usage{At: 110 * turn, Ticks: 27, Resident: 3}
	f := r.Figures()
	if f.Acquisitions != 100 || f.PerSecond != 100 || f.Resident != 3<<10 {
		t.Errorf("%d acquisitions, %v/s, %d bytes", f.Acquisitions, f.PerSecond, f.Resident)
	}
	for name, c := range map[string]struct {
		got  *int64
		want int64
	}{
		"acquire":  {f.AcquireP50, 2*turn - turn/10},
		"hand-off": {f.HandOffP50, turn},
		"CPU":      {f.CPU, 20 * int64(ClockTick) / 100},
	} {
		if c.got == nil || *c.got != c.want {
			t.Errorf("%s: %v, want %d", name, c.got, c.want)
		}
	}
	if f.AcquireP99 != nil {
		t.Errorf("a p99 of 100 samples: %d", *f.AcquireP99)
	}
}

// Where no client waits there are no hand-offs.
func TestFiguresAlone(t *testing.T) {
	r := Record{Begin: Usage{At: 0}, End: Usage{At: 1000}}
	for i := range int64(50) {
		r.Holds = append(r.Holds, Hold{i * 20, i*20 + 5, i*20 + 10})
	}
	if f := r.Figures(); f.HandOffP50 != nil || f.AcquireP50 == nil || *f.AcquireP50 != 5 {
		t.Errorf("got %+v", f)
	}
}

// Percentiles are taken from the samples, by rank, and only where enough samples lie beyond.
func TestPercentile(t *testing.T) {
	var samples []int64
	for i := range int64(1000) {
		samples = append(samples, 1000-i)
	}
	for p, want := range map[int]int64{50: 500, 90: 900, 99: 990} {
		if got := percentile(samples, p); got == nil || *got != want {
			t.Errorf("p%d: %v, want %d", p, got, want)
		}
	}
	if got := percentile(samples[:999], 99); got != nil {
		t.Errorf("p99 of 999: %d", *got)
	}
}

// A word that the protocol does not have ends a process.
func TestWindow(t *testing.T) {
	at := int64(0)
	now := func() int64 { at++; return at }
	begin, end, err := window(strings.NewReader(beginLine+"\n"+endLine+"\n"), now)
	if err != nil || begin.At >= end.At || begin.Resident == 0 || end.Ticks < begin.Ticks {
		t.Errorf("%+v, %+v, %v", begin, end, err)
	}
	for _, in := range []string{"", endLine + "\n", beginLine + "\n", beginLine + "\nfrob\n"} {
		if _, _, err := window(strings.NewReader(in), now); err == nil {
			t.Errorf("%q was accepted", in)
		}
	}
}
