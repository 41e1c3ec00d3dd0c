package bench

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"time"

	"locklab/harness/scenario"
	"locklab/reports/compare"
)

// The sides.
const (
	Base = "base"
	Head = "head"
)

// A Config says what a benchmark samples.
type Config struct {
	// Base is the scenario of the first side. Its seed decides the seeds of all runs and their order.
	Base *scenario.Scenario
	// Head is the scenario of the second side, which may be equal to Base; nil = there is only one side.
	Head *scenario.Scenario
	// HeadClients is a locklab binary for the client processes of Head; empty = this one.
	HeadClients string
	// Count is the number of samples of each side, or the most that there may be within a budget.
	Count int
	// Budget is how long a benchmark of two sides may take, with its lab. It ends earlier when the comparison of what
	// there is has an answer. 0 = there is no limit, and nothing is compared meanwhile.
	Budget time.Duration
	// Compare says how the samples are compared meanwhile.
	Compare compare.Options

	_ struct{}
}

// LeastBudget is the budget below which a comparison could never fail, because it has no time for enough runs. It
// counts nothing but the runs' own length.
func (c Config) LeastBudget() time.Duration {
	pair := c.Base.Warmup + c.Base.Duration + c.Head.Warmup + c.Head.Duration
	return time.Duration(c.Compare.LeastRuns()) * pair
}

// A Turn is one run of a benchmark.
type Turn struct {
	Side   string
	Number int // within its side, from 1
	// Seed is the seed of the run. The two runs of a pair have the same seed.
	Seed uint64
}

// Dir returns the run directory below the benchmark's directory.
func (t Turn) Dir() string { return filepath.Join(t.Side, fmt.Sprintf("%03d", t.Number)) }

// Streams of random numbers of a benchmark.
const (
	orderStream = iota
	seedStream
)

// Turns returns the runs in their order, which is the same for the same configuration. Two sides take turns in pairs.
// Of every two pairs, one has the head first, drawn at random. So a trend over the whole benchmark cancels out wherever
// it ends, and so does an effect of going second.
func (c Config) Turns() []Turn {
	order := rand.New(rand.NewPCG(c.Base.Seed, orderStream))
	headFirst := true // in the pair before
	seeds := rand.New(rand.NewPCG(c.Base.Seed, seedStream))
	var all []Turn
	for i := range c.Count {
		seed := 1 + seeds.Uint64N(1<<32)
		pair := []Turn{{Base, i + 1, seed}}
		if c.Head != nil {
			pair = append(pair, Turn{Head, i + 1, seed})
			if i%2 == 1 {
				headFirst = !headFirst
			} else {
				headFirst = i+1 < c.Count && order.IntN(2) == 0
			}
			if headFirst {
				pair[0], pair[1] = pair[1], pair[0]
			}
		}
		all = append(all, pair...)
	}
	return all
}

func (c Config) of(side string) *scenario.Scenario {
	if side == Head {
		return c.Head
	}
	return c.Base
}

// beside returns the head if the sides differ in the commands of their locks, which fit in one lab. In two labs, what
// differs between their ensembles would look like a difference of the locks.
func (c Config) beside() *scenario.Scenario {
	if c.Head == nil || c.Base.Command() == nil || c.Head.Command() == nil || c.Base.Recipe == c.Head.Recipe {
		return nil
	}
	return c.Head
}

func (c Config) sides() []string {
	if c.Head == nil {
		return []string{Base}
	}
	return []string{Base, Head}
}

// Varied returns the keys in which the sides differ, as package compare needs them: keys of the scenario, and keys of
// the environment that follow from them.
func (c Config) Varied() []string {
	if c.Head == nil {
		return []string{}
	}
	varied := c.Base.Differences(c.Head)
	if c.Base.Negotiated() != c.Head.Negotiated() {
		varied = append(varied, "env.session_timeout_ns")
	}
	if c.Base.Heap != c.Head.Heap || c.Base.JVM != c.Head.JVM {
		varied = append(varied, "env.java_options")
	}
	if c.Base.RoundTrip.Relayed != c.Head.RoundTrip.Relayed {
		varied = append(varied, "env.relayed")
	}
	return varied
}
