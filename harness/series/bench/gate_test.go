package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/ensembles/labtest"
	"locklab/harness/run"
	"locklab/harness/scenario"
	"locklab/harness/series"
	"locklab/reports/compare"
	"locklab/workloads"
)

// The environment of TestSoakGate.
const (
	// envGate is the directory of the comparisons. Several calls add to it.
	envGate = "LOCKLAB_BENCH_GATE"
	// envGateTime is how long a call may take; no comparison begins that might take longer.
	envGateTime = "LOCKLAB_BENCH_GATE_TIME"
)

// The size of TestSoakGate and the rates that it demands.
const (
	gateBudget   = 5 * time.Minute
	gatePairs    = 500 // more than the budget has
	gateSame     = 20  // comparisons of the same code
	gateFalse    = 1   // of them that may be red or improved
	gatePass     = 15  // and that must pass
	gateSlow     = 10  // comparisons with a head that hands off slower
	gateSlowdown = 0.20
	gateRed      = 0.9 // of the conclusive ones of them
)

// timerSlack is how much longer than requested a thread may sleep.
const timerSlack = 50 * time.Microsecond

// The test measures the gate on this machine. Comparisons of the same code must not fail, and comparisons of a mutex
// with one whose hand-off takes a fifth longer must fail. All are made by real runs in one lab for each call.
func TestSoakGate(t *testing.T) {
	dir := os.Getenv(envGate)
	if dir == "" {
		t.Skip("takes half an hour: make bench-gate")
	}
	labtest.Require(t)
	limit := 3 * time.Hour
	if text := os.Getenv(envGateTime); text != "" {
		var err error
		if limit, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	end := time.Now().Add(limit)
	sc, err := scenario.Builtin(workloads.Builtin, "mutex-latency")
	if err != nil {
		t.Fatal(err)
	}
	todo := missing(dir)
	if len(todo) == gateSame+gateSlow {
		// The slow binary can be built only when it is known how long a hand-off takes here.
		makeComparisons(t, dir, todo[:1], sc, labtest.Binary(t), end)
		todo = todo[1:]
	}
	if len(todo) > 0 {
		handoff := medianHandoff(t, glob(t, filepath.Join(dir, "*", "*", Base)))
		delay := (time.Duration(gateSlowdown*handoff) - timerSlack).Round(10 * time.Microsecond)
		t.Logf("hand-off p50 is %v; the head's takes %v and the timer's slack longer", time.Duration(handoff), delay)
		makeComparisons(t, dir, todo, sc, slowBinary(t, delay.String()), end)
	}
	judgeGate(t, dir)
}

// A comparison is one of the comparisons that measure the gate.
type comparison struct{ kind, name string }

// missing returns the comparisons that are not there yet, two of the same code for each one of slower code, in turn.
func missing(dir string) []comparison {
	var all []comparison
	add := func(kind string, n int) {
		c := comparison{kind, fmt.Sprintf("%02d", n)}
		if _, err := os.Stat(filepath.Join(dir, c.kind, c.name)); err != nil {
			all = append(all, c)
		}
	}
	const each = gateSame / gateSlow
	for i := range gateSlow {
		for k := range each {
			add("same", each*i+k+1)
		}
		add("slow", i+1)
	}
	return all
}

// makeComparisons makes comparisons in one lab while there is time. The head of a slow one has the slow recipe in
// clients of the other binary, which determines how slow it is.
func makeComparisons(
	t *testing.T,
	dir string,
	todo []comparison,
	sc *scenario.Scenario,
	other string,
	end time.Time,
) {
	opts := run.Options{Binary: labtest.Binary(t), OtherClients: other, Log: labtest.Log(t)}
	lab := benchmark{
		config: Config{Base: sc, Head: sc.Clone(), HeadClients: other, Count: 1},
		dir:    t.TempDir(), report: func(Progress) {},
		labs: &series.Labs{Options: opts},
	}
	if err := lab.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := lab.labs.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := lab.warmUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	each := gateBudget
	for _, c := range todo {
		if time.Until(end) < each {
			return
		}
		begun := time.Now()
		b := lab
		b.dir = t.TempDir()
		b.config.Count, b.config.Budget, b.begun = gatePairs, gateBudget, begun
		b.config.Base, b.config.Head = sc.Clone(), sc.Clone()
		if c.kind == "same" {
			b.config.HeadClients = ""
		} else {
			b.config.Head.Recipe = slowRecipe
		}
		b.config.Base.Seed = uint64(begun.UnixNano())
		if err := b.writePlan(); err != nil {
			t.Fatal(err)
		}
		if err := b.runs(t.Context()); err != nil {
			t.Fatal(err)
		}
		keep(t, b.dir, filepath.Join(dir, c.kind, c.name))
		each = max(each, time.Since(begun))
		t.Logf("%s %s took %v", c.kind, c.name, time.Since(begun).Round(time.Second))
	}
}

// keep copies a benchmark without the files that compare does not read, which are a megabyte for each run.
func keep(t *testing.T, from, to string) {
	t.Helper()
	hosts, histories := filepath.Join(from, "*", "*", "hosts"), filepath.Join(from, "*", "*", "*.jsonl")
	for _, bulk := range append(glob(t, hosts), glob(t, histories)...) {
		if err := os.RemoveAll(bulk); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

// medianHandoff returns the median hand-off of the given sides, in nanoseconds.
func medianHandoff(t *testing.T, sides []string) float64 {
	t.Helper()
	var all []float64
	for _, dir := range sides[max(0, len(sides)-3):] {
		side, err := compare.Load(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range side.Runs {
			if v := r.Result.Latency.Handoff.P50Ns; v != nil {
				all = append(all, float64(*v))
			}
		}
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// judgeGate compares all sides so far, prints the rates and checks that they are as good as the gate promises.
func judgeGate(t *testing.T, dir string) {
	tallies := map[string]map[compare.Verdict]int{}
	for _, kind := range []string{"same", "slow"} {
		tally := map[compare.Verdict]int{}
		for _, to := range glob(t, filepath.Join(dir, kind, "*")) {
			r := compareIn(t, to)
			tally[r.Verdict]++
			handoff := r.Metrics[slices.IndexFunc(r.Metrics, func(l compare.Line) bool { return l.Name == "handoff.p50" })]
			if handoff.Change != nil {
				fmt.Printf(
					"%s/%s: %-12s hand-off p50 x%.3f (%.3f-%.3f)  %.110s\n",
					kind,
					filepath.Base(to),
					r.Verdict,
					handoff.Change.Estimate,
					handoff.Change.Low,
					handoff.Change.High,
					r.Reason,
				)
			}
		}
		fmt.Printf("%s: %v\n", kind, tally)
		tallies[kind] = tally
	}
	same, slow := tallies["same"], tallies["slow"]
	if n := same[compare.Regressed] + same[compare.Improved]; n > gateFalse {
		t.Errorf("%d comparisons of the same code are red or improved; at most %d may be", n, gateFalse)
	}
	if n := len(glob(t, filepath.Join(dir, "same", "*"))); n == gateSame && same[compare.Pass] < gatePass {
		t.Errorf("%d of %d comparisons of the same code pass; at least %d must", same[compare.Pass], n, gatePass)
	}
	if red, wrong := slow[compare.Regressed], slow[compare.Pass]+slow[compare.Improved]; float64(
		red,
	) < gateRed*float64(
		red+wrong,
	) {
		t.Errorf("of the conclusive comparisons with a slower head %d are red and %d are not", red, wrong)
	}
}

// compareIn compares the sides in a benchmark's directory, as the command does.
func compareIn(t *testing.T, dir string) compare.Report {
	t.Helper()
	base, head := filepath.Join(dir, Base), filepath.Join(dir, Head)
	design, err := compare.ReadDesign(base, head)
	if err != nil {
		t.Fatal(err)
	}
	b, err := compare.Load(base)
	if err != nil {
		t.Fatal(err)
	}
	h, err := compare.Load(head)
	if err != nil {
		t.Fatal(err)
	}
	r, err := compare.Compare(b, h, compare.Options{Varied: design.Varied, Paired: design.Paired,
		Looks: design.Looks}, nil)
	if err != nil {
		t.Fatal(strings.Join([]string{dir, err.Error()}, ": "))
	}
	return r
}
