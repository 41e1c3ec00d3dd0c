package sweep

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"locklab/reports/capacity"
	"locklab/reports/result"
)

// gridInput is a sweep over two parts of the load, whose waits are exactly clients² · locks⁻¹ ms, with so many windows
// that differ by 10 % in all.
func gridInput(windows int) Input {
	in := Input{Header: Header{Scenario: "grid", Repeat: windows}}
	in.Params = []Param{param("clients", "4", "16"), param("locks", "1", "4")}
	for _, clients := range []int{4, 16} {
		for _, locks := range []int{1, 4} {
			p := PointRuns{Values: map[string]string{"clients": fmt.Sprint(clients), "locks": fmt.Sprint(locks)},
				Setting: Setting{Clients: clients, Locks: locks, Hold: 5 * time.Millisecond}}
			for i := range windows {
				r := &result.Result{}
				differ := 1.0
				if windows > 1 {
					differ = 0.95 + 0.1*float64(i)/float64(windows-1)
				}
				ns := int64(float64(clients*clients) / float64(locks) * 1e6 * differ)
				r.Throughput.AcquiredPerS = new(100 * float64(locks))
				r.Latency.Acquire.MeanNs, r.Latency.Acquire.P99Ns = &ns, new(3*ns)
				p.Runs = append(p.Runs, Run{"x", r})
			}
			in.Points = append(in.Points, p)
		}
	}
	return in
}

// The answer for a measured load is the median of its windows. Between measured loads it lies between them, part by
// part of the load, and the interval has all windows on both sides.
func TestAnswers(t *testing.T) {
	s := Summarize(gridInput(5))
	for _, c := range []struct {
		clients, locks int
		perS, ms       float64
		low, high      float64 // of the mean, in ms
		measured       int
	}{
		{4, 1, 100, 16, 15.2, 16.8, 1},
		{8, 1, 100, 64, 15.2, 268.8, 2},
		{16, 2, 200, 128, 60.8, 268.8, 2},
		{8, 2, 200, 32, 3.8, 268.8, 4},
	} {
		a, err := s.Answer(Question{Clients: c.clients, Locks: c.locks})
		if err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		i := a.Intervals["acquire_mean_ns"]
		if !within(a.AcquiredPerS, c.perS, 1e-6) || !within(float64(*a.AcquireMeanNs), c.ms*1e6, 1e-6) ||
			!within(float64(*a.AcquireP99Ns), c.ms*3e6, 1e-6) || !within(i[0], c.low*1e6, 1e-6) ||
			!within(i[1], c.high*1e6, 1e-6) || len(a.Measured) != c.measured || a.Windows != 5 ||
			a.Confidence != 0.9375 || len(a.Notes) != 0 || a.HoldNs != 5e6 {
			t.Errorf("%+v: %+v", c, a)
		}
		var out strings.Builder
		if err := PrintAnswer(&out, a); err != nil || !strings.Contains(out.String(), "acquisitions a second (") ||
			strings.Count(out.String(), "measured: ") != c.measured {
			t.Errorf("%v\n%s", err, out.String())
		}
	}
	// A single window has no spread, and the answer says so.
	one := Summarize(gridInput(1))
	a, err := one.Answer(Question{Clients: 4, Locks: 1})
	if err != nil || a.Confidence != 0 || len(a.Notes) != 1 || !strings.Contains(a.Notes[0], "--repeat 5") {
		t.Errorf("%+v, %v", a, err)
	}
}

// A time that a window lacks is not told.
func TestAnswersWithoutATail(t *testing.T) {
	in := gridInput(3)
	in.Points[0].Runs[1].Result.Latency.Acquire.P99Ns = nil
	s := Summarize(in)
	a, err := s.Answer(Question{Clients: 8, Locks: 1})
	if _, known := a.Intervals["acquire_p99_ns"]; err != nil || a.AcquireP99Ns != nil || known || a.AcquireMeanNs == nil {
		t.Errorf("%+v, %v", a, err)
	}
	var out strings.Builder
	if err := PrintAnswer(&out, a); err != nil || !strings.Contains(out.String(), "p99 n/a\n") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// A search answers for the rates between its full windows, and is silent where a backlog grows.
func TestAnswersByASearch(t *testing.T) {
	s := Summarize(searchInput())
	l := s.Series[0].Points[1].Limit // of two locks
	a, err := s.Answer(Question{Rate: *l.Lower, Locks: 2})
	if err != nil || !within(a.AcquiredPerS, *l.Lower, 1e-6) || a.Windows < 5 || a.Rate == nil || a.Clients != 64 {
		t.Errorf("at the answer: %+v, %v", a, err)
	}
	lowest := *l.Lower
	for _, trial := range l.Trials {
		if trial.Kind == capacity.Full {
			lowest = min(lowest, trial.Level)
		}
	}
	if lowest < *l.Lower {
		rate := math.Sqrt(lowest * *l.Lower)
		if a, err := s.Answer(Question{Rate: rate, Locks: 2}); err != nil || !within(a.AcquiredPerS, rate, 1e-3) {
			t.Errorf("below the answer: %+v, %v", a, err)
		}
	}
	for _, rate := range []float64{*l.Upper, (*l.Lower + *l.Upper) / 2} {
		if a, err := s.Answer(Question{Rate: rate, Locks: 2}); !errors.Is(err, ErrUnmeasured) ||
			!strings.Contains(err.Error(), "more arrive than are served") {
			t.Errorf("%g a second: %+v, %v", rate, a, err)
		}
	}
	if a, err := s.Answer(Question{Locks: 2}); !errors.Is(err, ErrQuestion) || !strings.Contains(err.Error(), "--rate") {
		t.Errorf("without a rate: %+v, %v", a, err)
	}
}

// Questions beyond the measurements, and those that are not clear, are refused.
func TestRefusesToAnswer(t *testing.T) {
	s := Summarize(sweepInput(1, kinds, nil))
	mutex := map[string]string{"workload": "mutex"}
	for _, c := range []struct {
		q    Question
		is   error
		says string
	}{
		{Question{Clients: 257, Where: mutex}, ErrUnmeasured, "clients 257, and measured were 1 to 256"},
		{Question{Clients: 64, Locks: 3, Where: mutex}, ErrUnmeasured, "locks 3, and measured were 1 to 1"},
		{Question{Clients: 64, Hold: 6 * time.Millisecond, Where: mutex}, ErrUnmeasured, "hold 6 ms, and measured were 5 ms"},
		{Question{Clients: 64, Rate: 100, Where: mutex}, ErrUnmeasured, "arrivals at a rate"},
		{Question{Clients: 64}, ErrQuestion, "--where workload=mutex|read-write|semaphore"},
		{Question{Where: mutex}, ErrQuestion, "how many clients"},
		{Question{Clients: 64, Where: map[string]string{"workload": "multi-lock"}}, ErrQuestion, "never multi-lock"},
		{Question{Clients: 64, Where: map[string]string{"servers": "3"}}, ErrQuestion, "servers was not varied"},
		{Question{Clients: 64, Where: map[string]string{"clients": "64"}}, ErrQuestion, "clients was not varied"},
	} {
		if a, err := s.Answer(c.q); !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %+v, %v; want %q", c.q, a, err, c.says)
		}
	}
	in := gridInput(1)
	for i := range in.Points {
		in.Points[i].Setting.Ramp = true
	}
	ramps := Summarize(in)
	if _, err := ramps.Answer(Question{Clients: 4, Locks: 1}); !errors.Is(err, ErrUnmeasured) {
		t.Errorf("of ramps: %v", err)
	}
}
