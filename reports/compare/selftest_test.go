package compare

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
)

// samples are the run directories of
//
//	locklab bench mutex-latency --count 12 --vs-binary bin/locklab
//
// with the binary itself as the other one, on a machine with two cores that others used too, reduced to the files
// that Load reads. They were not selected.
const samples = "testdata/samples"

// errSelfTest says that the gate does not work.
var errSelfTest = errors.New("self-test failed")

// The size of the self-test, and the results that it demands.
const (
	selfTestTrials   = 20   // of each kind, with the seeds 1 to 20
	selfTestPairs    = 80   // of each trial, drawn from those recorded
	selfTestSlowdown = 0.20 // by how much each operation is longer
	selfTestFalse    = 1    // halves of the same runs that may look improved; none may fail
	selfTestPass     = 15   // halves of the same runs that must pass
	selfTestRed      = 15   // slowed heads that must fail
)

// A comparer is a comparison that the self-test tests.
type comparer func(base, head Side, opts Options, loaded error) (Report, error)

// selfTest compares recorded runs with each other. First it compares halves of the same runs, choosing pairs at random,
// and which run of each is the base. None of these comparisons may fail. Then it slows the head: each conclusive
// comparison must fail, and most must be conclusive. It is the same every time. The outcome is written to w. The
// error wraps errSelfTest if it is not as it must be.
func selfTest(w io.Writer, compare comparer) error {
	all, err := recorded()
	if err != nil {
		return fmt.Errorf("%w: %w", errSelfTest, err)
	}
	same, err := trials(all, 0, compare)
	if err != nil {
		return fmt.Errorf("%w: %w", errSelfTest, err)
	}
	slow, err := trials(all, selfTestSlowdown, compare)
	if err != nil {
		return fmt.Errorf("%w: %w", errSelfTest, err)
	}
	fmt.Fprintf(w, "%d of %d pairs of real runs, dealt to two sides %d times\nas they are:         %s\nhead slowed by "+
		"%.0f %%: %s\n",
		selfTestPairs, len(all), selfTestTrials, same, 100*selfTestSlowdown, slow)
	var wrong []error
	if n := same[Regressed]; n > 0 {
		wrong = append(wrong, fmt.Errorf("%w: %d of %d halves of the same runs went red", errSelfTest, n, selfTestTrials))
	}
	if n := same[Improved]; n > selfTestFalse {
		wrong = append(wrong, fmt.Errorf("%w: %d of %d halves of the same runs look improved", errSelfTest, n,
			selfTestTrials))
	}
	if same[Pass] < selfTestPass {
		wrong = append(wrong, fmt.Errorf("%w: only %d of %d halves of the same runs pass", errSelfTest, same[Pass],
			selfTestTrials))
	}
	if n := same[Violation] + slow[Violation]; n > 0 {
		wrong = append(wrong, fmt.Errorf("%w: %d violations where there are none", errSelfTest, n))
	}
	if n := slow[Pass] + slow[Improved]; n > 0 {
		wrong = append(wrong, fmt.Errorf("%w: %d of %d slowed heads were let through", errSelfTest, n, selfTestTrials))
	}
	if slow[Regressed] < selfTestRed {
		wrong = append(wrong, fmt.Errorf("%w: only %d of %d slowed heads went red", errSelfTest, slow[Regressed],
			selfTestTrials))
	}
	return errors.Join(wrong...)
}

// A tally counts verdicts.
type tally map[Verdict]int

func (t tally) String() string {
	var s []string
	for _, v := range []Verdict{Pass, Regressed, Improved, Inconclusive, Violation} {
		s = append(s, fmt.Sprintf("%d %s", t[v], v))
	}
	return strings.Join(s, ", ")
}

// recorded returns the samples.
func recorded() ([]pair, error) {
	var sides [2]Side
	for i, name := range []string{"base", "head"} {
		var err error
		if sides[i], err = Load(filepath.Join(samples, name)); err != nil {
			return nil, err
		}
	}
	pairs, over := pairsOf(sides[0], sides[1])
	if len(over) > 0 {
		return nil, fmt.Errorf("%w: samples without a partner: %v", ErrInput, over)
	}
	return pairs, nil
}

// trials draws pairs with each seed, some more than once, assigns their runs to the sides at random, slows the head,
// and compares.
func trials(all []pair, slowdown float64, compare comparer) (tally, error) {
	t := tally{}
	for seed := range uint64(selfTestTrials) {
		rng := rand.New(rand.NewPCG(seed+1, 0))
		base, head := Side{Name: "base"}, Side{Name: "head"}
		for i := range selfTestPairs {
			p := all[rng.IntN(len(all))]
			b, h := *p.base, *p.head
			if rng.IntN(2) == 0 {
				b, h = h, b
			}
			b.Env.ClientBinary, h.Env.ClientBinary = "", "" // the same binary under two names
			b.Env.StartedUnixNs, h.Env.StartedUnixNs = int64(2*i+1), int64(2*i+2)
			b.Name, h.Name = fmt.Sprintf("base/%03d", i+1), fmt.Sprintf("head/%03d", i+1)
			base.Runs, head.Runs = append(base.Runs, b), append(head.Runs, slowed(h, slowdown))
		}
		r, err := compare(base, head, Options{Paired: true}, nil)
		if err != nil {
			return nil, err
		}
		t[r.Verdict]++
	}
	return t, nil
}

// slowed returns the run as if each acquisition took longer by a share: its latencies grow, and the throughput of the
// closed loop falls in proportion.
func slowed(r Run, by float64) Run {
	longer := func(n *int64) *int64 {
		if n == nil {
			return nil
		}
		v := int64(math.Round(float64(*n) * (1 + by)))
		return &v
	}
	if v := r.Result.Throughput.AcquiredPerS; v != nil {
		rate := *v / (1 + by)
		r.Result.Throughput.AcquiredPerS = &rate
	}
	for _, phase := range []string{"acquire", "handoff"} {
		l := r.Result.Latency.ByPhase(phase)
		l.P50Ns, l.P90Ns, l.P99Ns = longer(l.P50Ns), longer(l.P90Ns), longer(l.P99Ns)
	}
	return r
}

func TestSelfTest(t *testing.T) {
	if testing.Short() {
		t.Skip("compares thousands of samples")
	}
	if err := selfTest(t.Output(), Compare); err != nil {
		t.Error(err)
	}
}

// A broken gate does not pass its own test.
func TestSelfTestFindsABrokenGate(t *testing.T) {
	if testing.Short() {
		t.Skip("compares thousands of samples")
	}
	always := func(v Verdict) comparer {
		return func(Side, Side, Options, error) (Report, error) { return Report{Verdict: v}, nil }
	}
	for name, broken := range map[string]comparer{
		"always green":        always(Pass),
		"always red":          always(Regressed),
		"always improved":     always(Improved),
		"always inconclusive": always(Inconclusive),
		"always a violation":  always(Violation),
		"the wrong way round": func(base, head Side, opts Options, err error) (Report,
			error) {
			return Compare(head, base, opts, err)
		},
		"blind to the head": func(base, _ Side, opts Options, err error) (Report, error) {
			return Compare(base, renumbered(base), opts, err)
		},
		"blind to latency": func(base, head Side, opts Options, err error) (Report, error) {
			opts.Metrics = []string{"operations.not_acquired_share"}
			return Compare(base, head, opts, err)
		},
		"refuses all": func(Side, Side, Options, error) (Report, error) { return Report{}, ErrInput },
	} {
		if err := selfTest(io.Discard, broken); !errors.Is(err, errSelfTest) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// renumbered returns other runs with the same numbers.
func renumbered(s Side) Side {
	var other Side
	for _, r := range s.Runs {
		r.Env.StartedUnixNs++
		other.Runs = append(other.Runs, r)
	}
	return other
}
