package compare

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"strings"
)

// samples are the run directories of
//
//	locklab bench mutex-latency --count 12 --vs-binary bin/locklab
//
// with the binary itself as the other one, on a machine with two cores that others used too, reduced to the files
// that Load reads. They were not selected.
//
//go:embed samples
var samples embed.FS

// ErrSelfTest says that the gate does not work.
var ErrSelfTest = errors.New("self-test failed")

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

// SelfTest compares recorded runs with each other. First it compares halves of the same runs, choosing pairs at random,
// and which run of each is the base. None of these comparisons may fail. Then it slows the head: each conclusive
// comparison must fail, and most must be conclusive. It uses the code of a real comparison, and is the same every
// time. The outcome is written to w. The error wraps [ErrSelfTest] if it is not as it must be.
func SelfTest(w io.Writer) error { return selfTest(w, Compare) }

func selfTest(w io.Writer, compare comparer) error {
	all, err := recorded()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSelfTest, err)
	}
	same, err := trials(all, 0, compare)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSelfTest, err)
	}
	slow, err := trials(all, selfTestSlowdown, compare)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSelfTest, err)
	}
	fmt.Fprintf(w, "%d of %d pairs of real runs, dealt to two sides %d times\nas they are:         %s\nhead slowed by "+
		"%.0f %%: %s\n",
		selfTestPairs, len(all), selfTestTrials, same, 100*selfTestSlowdown, slow)
	var wrong []error
	if n := same[Regressed]; n > 0 {
		wrong = append(wrong, fmt.Errorf("%w: %d of %d halves of the same runs went red", ErrSelfTest, n, selfTestTrials))
	}
	if n := same[Improved]; n > selfTestFalse {
		wrong = append(wrong, fmt.Errorf("%w: %d of %d halves of the same runs look improved", ErrSelfTest, n,
			selfTestTrials))
	}
	if same[Pass] < selfTestPass {
		wrong = append(wrong, fmt.Errorf("%w: only %d of %d halves of the same runs pass", ErrSelfTest, same[Pass],
			selfTestTrials))
	}
	if n := same[Violation] + slow[Violation]; n > 0 {
		wrong = append(wrong, fmt.Errorf("%w: %d violations where there are none", ErrSelfTest, n))
	}
	if n := slow[Pass] + slow[Improved]; n > 0 {
		wrong = append(wrong, fmt.Errorf("%w: %d of %d slowed heads were let through", ErrSelfTest, n, selfTestTrials))
	}
	if slow[Regressed] < selfTestRed {
		wrong = append(wrong, fmt.Errorf("%w: only %d of %d slowed heads went red", ErrSelfTest, slow[Regressed],
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
		dir, err := fs.Sub(samples, "samples/"+name)
		if err != nil {
			return nil, err
		}
		if sides[i], err = loadFS(dir, name); err != nil {
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
