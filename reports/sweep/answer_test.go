package sweep

import (
	"errors"
	"strings"
	"testing"
	"time"

	"locklab/reports/capacity"
	"locklab/reports/result"
	"locklab/reports/words"
)

// The answer for a measured load is the measurement. Near it, the answer is the model's, corrected.
func TestAnswers(t *testing.T) {
	s := Summarize(sweepInput(1, kinds, func(kind string, clients int, r *result.Result) {
		if kind == "mutex" && clients == 256 {
			x := *r.Throughput.AcquiredPerS * 0.8
			r.Throughput.AcquiredPerS = &x
		}
	}))
	mutex := map[string]string{"workload": "mutex"}
	for _, c := range []struct {
		q            Question
		x, mean, p99 float64 // per second, and seconds
	}{
		{Question{Clients: 64, Where: mutex}, 145, 0.434, 0.44},
		{Question{Clients: 100, Where: mutex}, 145, 0.683, 0.69},
		{Question{Clients: 300, Where: mutex}, 116, 2.58, 2.58},
		{Question{Clients: 64, Hold: 10 * time.Millisecond, Where: mutex}, 84, 0.75, 0.76},
		{Question{Clients: 64, Locks: 2, Where: mutex}, 284, 0.218, 0.22},
		{Question{Clients: 64, Rate: 100, Where: mutex}, 100, 0.0093, 0.049},
		{Question{Clients: 64, Where: map[string]string{"workload": "semaphore"}}, 294, 0.21, 0.215},
	} {
		a, err := s.Answer(c.q)
		if err != nil {
			t.Errorf("%+v: %v", c.q, err)
			continue
		}
		if !within(a.AcquiredPerS, c.x, 0.05) || !within(float64(*a.AcquireMeanNs)/1e9, c.mean, 0.1) ||
			!within(float64(*a.AcquireP99Ns)/1e9, c.p99, 0.15) {
			t.Errorf("%+v: %.1f a second, mean %s, p99 %s; want %.1f, %.4f s, %.4f s", c.q, a.AcquiredPerS,
				words.Duration(*a.AcquireMeanNs), words.Duration(*a.AcquireP99Ns), c.x, c.mean, c.p99)
		}
		var out strings.Builder
		if err := PrintAnswer(&out, a); err != nil || !strings.Contains(out.String(), "acquisitions a second") {
			t.Errorf("%v\n%s", err, out.String())
		}
	}
	over, err := s.Answer(Question{Clients: 64, Rate: 200, Where: mutex})
	if err != nil || over.AcquireMeanNs != nil || over.AcquireP99Ns != nil ||
		!strings.Contains(strings.Join(over.Notes, " "), "grows without limit") {
		t.Errorf("more than it can take: %+v, %v", over, err)
	}
}

// If the limit is what many locks share, more locks do not help, and fewer locks share as much.
func TestAnswersOfASharedLimit(t *testing.T) {
	in := shardInput()
	for i := range in.Points {
		in.Points[i].Values["clients"] = "64"
		x := min(*in.Points[i].Runs[0].Result.Throughput.AcquiredPerS, 500)
		in.Points[i].Runs[0].Result.Throughput.AcquiredPerS = &x
	}
	few := sweepInput(1, []kind{mutexKind}, nil)
	for _, p := range few.Points[1:4] { // 2 to 8 clients of one lock
		p.Values = map[string]string{"clients": p.Values["clients"], "locks": "1"}
		in.Points = append(in.Points, p)
	}
	in.Params = append(in.Params, param("clients", "2", "4", "8", "64"))
	s := Summarize(in)
	for locks, want := range map[int]float64{1: 140, 24: 500, 32: 500, 64: 500} {
		if a, err := s.Answer(Question{Clients: 64, Locks: locks}); err != nil || !within(a.AcquiredPerS, want, 0.06) ||
			a.ModelPerS < want*0.95 {
			t.Errorf("%d locks: %.1f a second of the model's %.1f, %v; want %.1f", locks, a.AcquiredPerS, a.ModelPerS, err, want)
		}
	}
}

// Questions that are too far from the measurements or that cannot be answered are refused.
func TestRefusesToAnswer(t *testing.T) {
	s := Summarize(sweepInput(1, kinds, nil))
	mutex := map[string]string{"workload": "mutex"}
	for _, c := range []struct {
		q    Question
		is   error
		says string
	}{
		{Question{Clients: 513, Where: mutex}, capacity.ErrTooFar, "clients: "},
		{Question{Clients: 64, Locks: 3, Where: mutex}, capacity.ErrTooFar, "locks: "},
		{Question{Clients: 64, Hold: 11 * time.Millisecond, Where: mutex}, capacity.ErrTooFar, "milliseconds of hold: "},
		{Question{Clients: 64, Hold: 2 * time.Millisecond, Where: mutex}, capacity.ErrTooFar, "milliseconds of hold: "},
		{Question{Clients: 64}, ErrQuestion, "--where workload=mutex|read-write|semaphore"},
		{Question{Where: mutex}, ErrQuestion, "how many clients"},
		{Question{Clients: 64, Where: map[string]string{"workload": "multi-lock"}}, ErrQuestion, "never multi-lock"},
		{Question{Clients: 64, Where: map[string]string{"servers": "3"}}, ErrQuestion, "servers was not varied"},
		{Question{Clients: 64, Hold: 7 * time.Millisecond, Where: map[string]string{"workload": "semaphore"}}, ErrQuestion,
			"have to be measured"},
	} {
		if a, err := s.Answer(c.q); !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %+v, %v; want %q", c.q, a, err, c.says)
		}
	}
	in := sweepInput(1, []kind{mutexKind}, nil)
	in.Points = in.Points[4:]
	many := Summarize(in)
	if _, err := many.Answer(Question{Clients: 64}); !errors.Is(err, ErrQuestion) ||
		!strings.Contains(err.Error(), "learn the hand-off") {
		t.Errorf("without a point of few clients: %v", err)
	}
}

// Between and beyond the measured numbers of locks, what they share is the limit, by the fitted law.
func TestAnswerByTheScalabilityLaw(t *testing.T) {
	s := Summarize(shardInput())
	law := s.Series[0].USL
	for _, locks := range []int{6, 24, 64} {
		a, err := s.Answer(Question{Clients: 64, Locks: locks})
		if err != nil {
			t.Fatal(err)
		}
		if want := law.At(float64(locks)); !within(a.ModelPerS, want, 1e-9) || !within(a.AcquiredPerS, want, 0.08) ||
			!strings.Contains(strings.Join(a.Notes, "\n"), "by the scalability law") {
			t.Errorf("%d locks: %.1f a second, the model alone %.1f, want %.1f; %q", locks, a.AcquiredPerS, a.ModelPerS, want,
				a.Notes)
		}
	}
}
