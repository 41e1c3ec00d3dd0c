package recipes

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"locklab/ensembles/labtest/suite"
	"locklab/recipes/internal/wire"
	"locklab/recipes/zksession"
	"locklab/recipes/zktest"
)

// The nightly suite plays every case. Otherwise the test draws a sample, with the seed in that variable or with a
// random one.
const envStepsSeed = "LOCKLAB_STEPS_SEED"

const (
	// casesAtOnce keeps the servers busy although most of the clients wait most of the time.
	casesAtOnce = 24
	// samples is how many cases are drawn for each recipe and kind of fault.
	samples = 2
	// idleSamples is how many of a client that is idle are drawn in addition.
	idleSamples = 1
)

// Every recipe in every situation, with every kind of fault at every step, while nobody or somebody waits
// behind. A case's name is recipe/situation/step/fault/who waits; to play one again:
//
//	LOCKLAB_TEST_ALL=1 go test ./recipes -run 'TestProtocolSteps$/^mutex$/^first-use$/^create-2$/^mute$/^alone$'
func TestProtocolSteps(t *testing.T) {
	t.Parallel()
	onRealServers(t)
	protocolSteps(t, servers(t))
}

// The same on three servers in memory, which behave as the real ones do.
func TestProtocolStepsInMemory(t *testing.T) {
	t.Parallel()
	protocolSteps(t, zktest.StartWith(t, zktest.Config{Servers: 3}).Addrs())
}

func protocolSteps(t *testing.T, servers []string) {
	skipUnderRace(t)
	seed, every := stepsSeed(t), suite.All()
	t.Logf("%s=%d, all cases: %t", envStepsSeed, seed, every)
	observer := connected(t, SessionConfig{Config: zksession.Config{Servers: servers, Timeout: 20 * time.Second}})
	// The cases share the parent of their paths, which stays. Each case creates only what is below its path.
	keep := lockPath(t)
	if err := ensureDir(within(t), observer.zk, path.Dir(keep)); err != nil {
		t.Fatal(err)
	}
	if _, err := observer.zk.Create(within(t), keep, nil, zksession.Ephemeral); err != nil {
		t.Fatal(err)
	}
	recipes := map[string][]*scenario{}
	for _, sc := range scenarios() {
		recipes[sc.recipe] = append(recipes[sc.recipe], sc)
	}
	slots := make(chan struct{}, casesAtOnce)
	var mu sync.Mutex
	played, refused, possible := map[string]int{}, map[string]int{}, 0
	var wg sync.WaitGroup
	for recipe, situations := range recipes {
		wg.Go(func() {
			t.Run(recipe, func(t *testing.T) {
				slots <- struct{}{}
				cases := allCases(t, servers, observer, situations)
				<-slots
				mu.Lock()
				possible += len(cases)
				mu.Unlock()
				if !every {
					cases = sample(cases, seed, recipe)
				}
				var wg sync.WaitGroup
				for _, c := range cases {
					slots <- struct{}{}
					wg.Go(func() {
						defer func() { <-slots }()
						t.Run(c.String(), func(t *testing.T) {
							_, _, err := c.sc.play(t, servers, observer, &c.plan)
							mu.Lock()
							defer mu.Unlock()
							played[c.plan.kind.name]++
							if err != nil {
								refused[c.plan.kind.name]++
							}
						})
					})
				}
				wg.Wait()
			})
		})
	}
	wg.Wait()
	t.Logf("%d cases are possible; played %v; ended in an error %v", possible, played, refused)
}

func stepsSeed(t *testing.T) uint64 {
	text, ok := os.LookupEnv(envStepsSeed)
	if !ok {
		return uint64(rand.Uint32())
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", envStepsSeed, err)
	}
	return seed
}

// A stepCase is a scenario and a plan for it.
type stepCase struct {
	sc   *scenario
	plan plan
}

func (c stepCase) String() string { return c.sc.situation + "/" + c.plan.String() }

// allCases plays each of a recipe's situations without a fault to learn its steps. It returns every combination, in a
// fixed order.
func allCases(
	t *testing.T,
	servers []string,
	observer *Session,
	situations []*scenario,
) (cases []stepCase) {
	for _, sc := range situations {
		order, rests, _ := sc.play(t, servers, observer, nil)
		if !sc.fresh && slices.Contains(order, wire.OpCreateContainer) {
			// The servers look for empty containers once a minute, and have just deleted this one's.
			order, rests, _ = sc.play(t, servers, observer, nil)
		}
		if len(order) == 0 {
			t.Errorf("%s: no requests", sc.situation)
		}
		t.Logf("%s: %d steps", sc.situation, len(order))
		slices.Sort(order)
		var steps []step
		for i, op := range order {
			n := 1
			if i > 0 && order[i-1] == op {
				n = steps[i-1].n + 1
			}
			steps = append(steps, step{op, n})
		}
		if rests {
			steps = append(steps, idle)
		}
		for _, at := range steps {
			for _, kind := range faultKinds {
				if kind.force && sc.theirs == nil {
					continue // the client has no znode of its own
				}
				cases = append(cases, stepCase{sc, plan{at, kind, false}})
				if sc.theirs != nil {
					cases = append(cases, stepCase{sc, plan{at, kind, true}})
				}
			}
		}
	}
	return cases
}

// sample draws some cases for each kind of fault, of those at a request and of those while the client is idle.
func sample(cases []stepCase, seed uint64, recipe string) (drawn []stepCase) {
	h := fnv.New64()
	fmt.Fprint(h, recipe)
	r := rand.New(rand.NewPCG(seed, h.Sum64()))
	for _, kind := range faultKinds {
		for _, resting := range []bool{false, true} {
			of := slices.DeleteFunc(slices.Clone(cases), func(c stepCase) bool {
				return c.plan.kind.name != kind.name || (c.plan.step == idle) != resting
			})
			r.Shuffle(len(of), func(i, j int) { of[i], of[j] = of[j], of[i] })
			n := samples
			if resting {
				n = idleSamples
			}
			drawn = append(drawn, of[:min(n, len(of))]...)
		}
	}
	return drawn
}
