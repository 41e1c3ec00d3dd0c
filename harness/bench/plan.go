package bench

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"

	"locklab/harness/scenario"
)

// The sides.
const (
	Base = "base"
	Head = "head"
)

// A Plan says what is to be sampled.
type Plan struct {
	// Base is what the samples are of. Its seed decides each run's own seed and the order.
	Base *scenario.Scenario
	// Head is the scenario of a second side, which may be equal to Base; nil = there is none.
	Head *scenario.Scenario
	// HeadClients is a locklab binary for the client processes of Head; empty = ours.
	HeadClients string
	// Count is how many samples each side gets.
	Count int

	_ struct{}
}

// A Turn is one run of a benchmark.
type Turn struct {
	Side   string
	Number int // within its side, from 1
	// Seed is the run's. The two of a pair have the same.
	Seed uint64
}

// Dir is where the run goes, below the benchmark's directory.
func (t Turn) Dir() string { return filepath.Join(t.Side, fmt.Sprintf("%03d", t.Number)) }

func (t Turn) String() string { return t.Dir() }

// Streams of the plan's seed.
const (
	orderStream = iota
	seedStream
)

// Turns are the runs in their order, the same for the same plan. Two sides take turns in pairs.
// Within half of the pairs, which ones is drawn, head goes first: a trend over the whole cancels out,
// and so does whatever going second does.
func (p Plan) Turns() []Turn {
	order := rand.New(rand.NewPCG(p.Base.Seed, orderStream)).Perm(p.Count)
	seeds := rand.New(rand.NewPCG(p.Base.Seed, seedStream))
	var all []Turn
	for i := range p.Count {
		seed := 1 + seeds.Uint64N(1<<32)
		pair := []Turn{{Base, i + 1, seed}}
		if p.Head != nil {
			pair = append(pair, Turn{Head, i + 1, seed})
			if order[i] < p.Count/2 {
				pair[0], pair[1] = pair[1], pair[0]
			}
		}
		all = append(all, pair...)
	}
	return all
}

func (p Plan) sides() []string {
	if p.Head == nil {
		return []string{Base}
	}
	return []string{Base, Head}
}

// Varied are the keys in which the sides differ, as compare is to be told: those of the scenario, and
// what follows from them in env.json.
func (p Plan) Varied() []string {
	if p.Head == nil {
		return []string{}
	}
	varied := p.Base.Differences(p.Head)
	if p.Base.Negotiated() != p.Head.Negotiated() {
		varied = append(varied, "env.session_timeout_ns")
	}
	if p.Base.Heap != p.Head.Heap {
		varied = append(varied, "env.java_options")
	}
	return varied
}
