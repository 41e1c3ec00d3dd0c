package gatecurve

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"locklab/reports/compare"
)

// answered returns a record whose samples have an answer: that of twelve pairs in which every latency of the head is
// that of the base times a factor, give or take a share that differs from pair to pair. It is one minute and a number
// of seconds long.
func answered(cell string, factor, share float64, seconds int) Record {
	r := Record{SchemaVersion: SchemaVersion, Machine: "2 cores, quiet", Cell: cell, TookS: 60 + float64(seconds),
		Pairs: 12, Samples: map[string]Sides{}}
	for path, v := range map[string]float64{"throughput.acquired_per_s": 0, "latency.acquire.p50_ns": 4e6,
		"latency.acquire.p99_ns": 9e6, handoff: 1e6, "operations.acquired": 500, "server.requests_per_acquire": 6} {
		s := Sides{}
		for i := range r.Pairs {
			b, h := v, v
			by := factor * (1 + share*(2*float64(i%2)-1)*(1+float64(i)/1000))
			switch {
			case path == "throughput.acquired_per_s":
				b, h = 500, 500/by
			case strings.HasPrefix(path, "latency."):
				h = float64(int(v * by))
			}
			s.Base, s.Head = append(s.Base, &b), append(s.Head, &h)
		}
		r.Samples[path] = s
	}
	return r
}

// examples are comparisons with every kind of answer.
func examples() (all []Record) {
	add := func(cell string, factor, share float64, n int) {
		for i := range n {
			all = append(all, answered(cell, factor, share, i))
		}
	}
	add(Same, 1, 0.001, 57)
	add(Same, 1, 0.5, 2)
	add(Same, 0.8, 0.001, 1)
	add("handoff-20", 1.2, 0.001, 10)
	add("handoff-20", 0.8, 0.001, 1)
	add("tail", 1.3, 0.001, 12)
	return all
}

// inWeather returns some of the examples as if there had been a load.
func inWeather(from, to int) []Record {
	all := examples()[from:to]
	for i := range all {
		all[i].Machine, all[i].Weather = "2 cores, weather", true
	}
	return all
}

// The table has a row for each cell and machine, also for what was not measured, and says whether goals are met.
func TestTable(t *testing.T) {
	rows, err := Rows(append(examples(), inWeather(60, 70)...))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := Table(&b, rows); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| 2 cores, quiet | the same code | 60 | 1 (0–9 %) | 2 (0–12 %) | 57 (86–99 %) | 1.4, 1.9 | ×1.000 | " +
			"called in ≤ 2 of 60, ≤ 5 % inconclusive: met |",
		"| 2 cores, quiet | hand-off 20 % longer | 11 | 10 (59–100 %) | 0 (0–28 %) | 1 (0–41 %) | 1.1, 1.1 | ×1.200 | " +
			"called in ≥ 38 of 40: missed so far |",
		"| 2 cores, quiet | one of 50 grants 20 ms late | 12 | 12 (74–100 %) | 0 (0–26 %) | 0 (0–26 %) | 1.1, 1.2 | " +
			"×1.300 | called in ≥ 16 of 20: met so far |",
		"| 2 cores, quiet | hand-off 10 % longer | 0 | not measured | not measured | not measured | not measured | " +
			"not measured | called in ≥ 16 of 20 |",
		"| 2 cores, weather | hand-off 20 % longer | 10 | 10 (69–100 %) | 0 (0–31 %) | 0 (0–31 %) | 1.1, 1.1 | ×1.200 | " +
			"called in ≥ 30 of 40: met so far |",
		"| 2 cores, weather | the same code | 0 | not measured | not measured | not measured | not measured | " +
			"not measured | called in ≤ 2 of 60, ≤ 5 % inconclusive |",
	} {
		if !strings.Contains(b.String(), want+"\n") {
			t.Errorf("no row %s in\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "| 2 cores, weather | one request more") {
		t.Errorf("a row for what is not measured there:\n%s", b.String())
	}
	if rows, err := Rows(nil); err != nil || len(rows) != len(cells) {
		t.Errorf("%d rows without records, %v", len(rows), err)
	}
}

// A comparison that today's statistics would have ended earlier counts as having ended then.
func TestReplayEndsAtTheFirstAnswer(t *testing.T) {
	r := answered("handoff-20", 1.2, 0.001, 200)
	r.Looks = []compare.Look{{Pairs: 4, Spent: 0.2}, {Pairs: 11, Spent: 0.6}, {Pairs: 12, Spent: 1}}
	if v, minutes, err := r.Replay(); err != nil || v != compare.Regressed || minutes != 0.6*Budget.Minutes() {
		t.Errorf("%s after %v minutes, %v", v, minutes, err)
	}
	r.Looks = r.Looks[:1]
	if v, minutes, err := r.Replay(); err != nil || v != compare.Regressed || minutes != 260.0/60 {
		t.Errorf("%s after %v minutes, %v", v, minutes, err)
	}
}

// A delay is a share of the hand-off of the last recent comparisons, and longer if part of the delays so far did not
// show on the same machine, in the same cell if it has any.
func TestDelay(t *testing.T) {
	record := func(machine string, delay int64, longer float64, base ...float64) Record {
		s := Sides{Base: []*float64{nil}}
		for _, v := range base {
			head := v + longer
			s.Base, s.Head = append(s.Base, &v), append(s.Head, &head)
		}
		return Record{Machine: machine, DelayNs: delay, Samples: map[string]Sides{handoff: s}}
	}
	fifth := Cell{Name: "fifth", Slower: 0.2}
	own := func(r Record) Record { r.Cell = "fifth"; return r }
	recent := []Record{record("a", 0, 0, 1e6, 1e6, 1e6, 1e6, 1e6, 1e6), record("a", 0, 0, 5e6, 6e6),
		record("a", 0, 0, 7e6), record("a", 0, 0, 8e6, 9e6)}
	for _, c := range []struct {
		records []Record
		want    time.Duration
	}{
		{nil, 1400 * time.Microsecond},                              // a fifth of the median of 5 to 9 ms
		{[]Record{record("a", 0, 0, 1e6)}, 1400 * time.Microsecond}, // of a day on which hand-offs took 1 ms
		{[]Record{record("a", 1e6, 7e5, 7e6), record("a", 2e6, 1e6, 7e6), record("a", 1e6, -1e5, 7e6)},
			2800 * time.Microsecond}, // half of it shows
		{[]Record{record("a", 1e6, 1e5, 7e6)}, 3500 * time.Microsecond}, // a tenth, of which 0.4 is made
		{[]Record{record("a", 1e6, 3e6, 7e6)}, 1400 * time.Microsecond}, // more than all
		{[]Record{record("b", 1e6, 1e5, 7e6)}, 1400 * time.Microsecond}, // another machine
		{[]Record{record("a", 1e6, 9e5, 7e6), own(record("a", 2e6, 1e6, 7e6)), record("a", 1e6, 8e5, 7e6)},
			2800 * time.Microsecond}, // half of it shows in this cell
	} {
		if got := Delay(c.records, recent, "a", fifth); got != c.want {
			t.Errorf("%d records: %s, want %s", len(c.records), got, c.want)
		}
	}
	if got := Delay(recent, nil, "a", fifth); got != 0 {
		t.Errorf("%s without recent comparisons", got)
	}
}

// The picture is the same each time, and there is none without comparisons.
func TestFigure(t *testing.T) {
	rows, err := Rows(examples())
	if err != nil {
		t.Fatal(err)
	}
	more, err := Rows(inWeather(0, 3))
	if err != nil {
		t.Fatal(err)
	}
	var drawn [2][]byte
	for i := range drawn {
		p, err := Figure(append(rows, more...)).Render()
		if err != nil {
			t.Fatal(err)
		}
		drawn[i] = p.SVG
	}
	for _, want := range []string{"2 cores, quiet", "2 cores, weather", "goal", "same code", "+20 %", "inconclusive"} {
		if !bytes.Contains(drawn[0], []byte(want)) {
			t.Errorf("the picture does not name %s", want)
		}
	}
	if !bytes.Equal(drawn[0], drawn[1]) {
		t.Error("the picture differs from time to time")
	}
	if p, err := Figure(nil).Render(); err != nil || p.SVG != nil || p.Absent == "" {
		t.Errorf("%v, %+v", err, p)
	}
}
