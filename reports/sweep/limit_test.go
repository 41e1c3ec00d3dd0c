package sweep

import (
	"strings"
	"testing"

	"locklab/harness/check/evidence"
	"locklab/reports/capacity"
	"locklab/reports/result"
)

// headlinesOf are the headlines of a single search.
func headlinesOf(h Header, l *capacity.Limit) string {
	h.Scenario, h.Disturbance = "mutex", "the server was stopped for 2s"
	if h.Saturate = []string{"acquire.p99 < 20ms"}; h.Over == "" {
		h.Over = "rate"
	}
	s := Summarize(Input{Header: h, Points: []PointRuns{{Values: map[string]string{}, Limit: l}}})
	return strings.Join(s.Headlines(), "\n")
}

// The headline is the answer in one sentence with its interval, and what belongs to it follows.
func TestHeadlinesOfSearches(t *testing.T) {
	level := func(v float64) *float64 { return &v }
	found := capacity.Limit{Lower: level(940), Upper: level(980), LowerWindows: 6, UpperWindows: 5, Low: level(910),
		High: level(980), Detail: "late", Recovered: new(true), RecoveredNs: new(int64(4e9)),
		Trials: []capacity.Trial{{Level: 400, Kind: capacity.Full, Latency: capacity.Quantiles{P99Ns: new(int64(12e6))}}},
		Away: &capacity.Limit{Lower: level(600), Upper: level(640), LowerWindows: 5, UpperWindows: 5, Low: level(600),
			High: level(640)}}
	clients, locks, least, open, upset := found, found, found, found, found
	upset.Undisturbed = level(1200)
	clients.Lower, clients.Upper = level(120), level(126)
	locks.Lower, locks.Upper, locks.Low, locks.High = level(17), level(16), level(18), level(16)
	least.AtLeast, least.Upper, least.Detail = true, nil, "arrivals came late"
	open.Upper, open.High, open.Irregular = nil, nil, "no level was found that does not hold"
	for _, c := range []struct {
		name   string
		header Header
		limit  *capacity.Limit
		want   []string
	}{
		{"a rate", Header{}, &found, []string{"mutex: 940 per second holds acquire.p99 < 20ms; 980 per second is too high " +
			"(95 % interval 910 to 980, by 6 and 5 windows).", "At 980 per second: late.",
			"At 940 per second the server was stopped for 2s; the limit was kept again 4 s later.",
			"With one server away, the limit is 600 per second (95 % interval 600 to 640, by 5 and 5 windows; 640 per second " +
				"was too much)."}},
		{"a planned rate", Header{PlannedRate: 400}, &found, []string{"At the planned rate of 400 a second p99 is 12 ms; " +
			"the limit is 2.35 times that rate."}},
		{"too high a planned rate", Header{PlannedRate: 1000}, &found, []string{"The planned rate of 1000 a second is " +
			"above the limit."}},
		{"a rate that does not recover", Header{}, &upset, []string{"the limit was kept again 4 s later.\nWithout a " +
			"disturbance, the limit was kept at 1200 per second too; after one it was not."}},
		{"clients", Header{Over: "clients"}, &clients, []string{
			"120 clients hold acquire.p99 < 20ms; 126 clients are too many"}},
		{"locks", Header{Over: "locks"}, &locks, []string{"17 locks hold acquire.p99 < 20ms; 16 locks are too few (95 % " +
			"interval 16 to 18, by"}},
		{"at least", Header{}, &least, []string{
			"at least 940 per second; this machine can ask for no more (arrivals came late)"}},
		{"nothing is too much", Header{}, &open, []string{"940 per second holds acquire.p99 < 20ms, and nothing that was " +
			"tried does not.", "The result is irregular: no level was found that does not hold."}},
		{"nothing holds", Header{}, &capacity.Limit{Upper: level(0.1), Detail: "late"}, []string{"no level holds " +
			"acquire.p99 < 20ms; 0.1 per second is too much: late."}},
		{"no answer", Header{}, &capacity.Limit{Unknown: "because"}, []string{"mutex: no answer: because."}},
		{"no answer, but undisturbed", Header{}, &capacity.Limit{Unknown: "because", Undisturbed: level(900)}, []string{
			"mutex: no answer: because.\nWithout a disturbance, the limit was kept at 900 per second; after one it was not."}},
	} {
		got := headlinesOf(c.header, c.limit)
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %q in\n%s", c.name, want, got)
			}
		}
	}
}

// The page says what a limit is good for, which points to look at first, and how to go on.
func TestAdvice(t *testing.T) {
	level := func(v float64) *float64 { return &v }
	search := func(over string, l *capacity.Limit) Sweep {
		h := Header{Scenario: "mutex", Over: over, Saturate: []string{"acquire.p99 < 20ms"}}
		return Summarize(Input{Header: h, Points: []PointRuns{{Values: map[string]string{}, Limit: l}}})
	}
	violated := Summarize(sweepInput(1, kinds[:1], func(_ string, clients int, r *result.Result) {
		switch clients {
		case 64:
			r.Verdict, r.Outcome = evidence.Fail, result.Violation
			r.Checks = []result.CheckLine{{Name: evidence.BeliefExclusion, Outcome: evidence.Fail}}
		case 128:
			r.Verdict, r.Outcome = evidence.Unknown, result.Inconclusive
		}
	}))
	for _, c := range []struct {
		name  string
		sweep Sweep
		want  []string
	}{
		{"a rate", search("rate", &capacity.Limit{Lower: level(940), Upper: level(980), Low: level(910)}),
			[]string{"mutex: plan with at most 910 per second, the safe end"}},
		{"locks", search("locks", &capacity.Limit{Lower: level(17), Upper: level(16), Low: level(18), High: level(16)}),
			[]string{"mutex: plan with at least 18 locks"}},
		{"no interval", search("rate", &capacity.Limit{Lower: level(940)}), []string{"940 per second kept the limit"}},
		{"no answer", search("rate", &capacity.Limit{Unknown: "because"}), []string{"locklab sweep --resume"}},
		{"violated", violated, []string{"One point has a violation", "One point has a run that did not pass",
			"more clients only wait"}},
	} {
		got := strings.Join(c.sweep.Advice(), "\n")
		for _, want := range append(c.want, "locklab plan") {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %q in\n%s", c.name, want, got)
			}
		}
	}
}

// A closed loop's headline says that more clients only waited longer where that was measured, and not by a model.
func TestOnlyMeasuredClientsWait(t *testing.T) {
	for _, c := range []struct {
		perS []float64 // by 100, 200, 400 … clients
		want string
	}{
		{[]float64{1046, 2076}, ""},
		{[]float64{1000, 1010, 990}, "from 100 clients on, more of them only waited longer (measured up to 400)"},
		{[]float64{1000, 1900, 1950, 1940}, "from 200 clients on, more of them only waited longer (measured up to 800)"},
		{[]float64{1000, 1900, 1950, 2400}, ""},
	} {
		s := Series{}
		for i, x := range c.perS {
			s.Points = append(s.Points, Point{Load: float64(int(100) << i), AcquiredPerS: &x})
		}
		sweep := Sweep{Load: "clients"}
		got := sweep.throughputHeadline(&s)
		if !strings.Contains(got, c.want) || strings.Contains(got, "only waited") != (c.want != "") {
			t.Errorf("%v: %s", c.perS, got)
		}
	}
}
