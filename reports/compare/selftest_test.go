package compare

import (
	"errors"
	"io"
	"testing"
)

func TestSelfTest(t *testing.T) {
	if testing.Short() {
		t.Skip("compares thousands of samples")
	}
	if err := SelfTest(t.Output()); err != nil {
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
		if err := selfTest(io.Discard, broken); !errors.Is(err, ErrSelfTest) {
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
