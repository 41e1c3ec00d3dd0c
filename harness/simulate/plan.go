package simulate

import (
	"math/rand/v2"
	"slices"
	"time"

	"locklab/workloads"
	"locklab/workloads/guard"
	"locklab/workloads/lock"
)

// A plan is what a seed makes of a recipe.
type plan struct {
	seed     uint64
	draws    uint64 // decides all that the plan leaves open; that is the seed, until it is shrunk
	recipe   lock.Recipe
	workload string
	guard    guard.Guard
	clients  int
	timeout  time.Duration // of sessions
	tick     time.Duration
	delay    time.Duration // the longest of a message
	disk     time.Duration
	reap     time.Duration
	wait     time.Duration // after which a client gives up; 0 = never
	think    time.Duration // at most, between two acquisitions
	hold     time.Duration // at most, but for a long one now and then
	permits  int
	units    int
	reads    float64 // the share of readers
	faults   []planned
	// turns are when the turns of each client begin; nil = a client begins one after the other.
	turns [][]time.Duration
	// fork is the seed that decides from forks on; forks = 0: none does.
	forks time.Duration
	fork  uint64
	// heal is when the last fault is over, and stop when clients begin nothing more.
	heal, stop time.Duration
}

// A planned fault is one that strikes at an instant.
type planned struct {
	kind   string
	at     time.Duration
	lasts  time.Duration
	target int  // of the clients, or of the servers behind them
	holder bool // of the clients, it strikes one that holds the lock, if one does
	waiter bool // of the clients, it strikes the one that has waited for the lock longest, if one waits
	oneWay bool
	// again are after how many frames the next connections break as well.
	again []int
}

// A faultKind is a kind of fault, by chaos's name, with whom it strikes.
type faultKind struct {
	name             string
	clients, servers bool
	momentary        bool
}

var kinds = []faultKind{
	{name: kindPause, clients: true, servers: true},
	{name: kindKill, servers: true},
	{name: kindPartition, clients: true, servers: true},
	{name: kindReset, clients: true, momentary: true},
	{name: kindExpire, clients: true, momentary: true},
}

const (
	kindPause     = "pause"
	kindKill      = "kill"
	kindPartition = "partition"
	kindReset     = "reset"
	kindExpire    = "expire-session"
)

const servers = 3

// newPlan draws what a seed makes of a recipe.
func newPlan(r lock.Recipe, seed uint64, faults bool) *plan {
	rnd := rand.New(rand.NewPCG(seed, 1))
	between := func(least, most time.Duration) time.Duration {
		return least + time.Duration(rnd.Int64N(int64(most-least)))
	}
	p := &plan{seed: seed, draws: seed, recipe: r, workload: r.Workloads[0], tick: time.Second,
		clients: 2 + rnd.IntN(5),
		timeout: time.Duration(4+2*rnd.IntN(4)) * time.Second, reap: time.Minute, permits: 1, units: 1,
		delay: between(300*time.Microsecond, 3*time.Millisecond), disk: between(100*time.Microsecond, 2*time.Millisecond),
		think: between(time.Millisecond, 20*time.Millisecond), hold: between(time.Millisecond, 5*time.Millisecond)}
	guards := []string{guard.None, guard.LostContext}
	if r.Tokens && (p.workload != workloads.Semaphore || r.Slots) {
		guards = append(guards, guard.Fencing)
	}
	p.guard, _ = guard.Find(guards[rnd.IntN(len(guards))])
	switch p.workload {
	case workloads.ReadWrite:
		p.reads = []float64{0.2, 0.5, 0.8}[rnd.IntN(3)]
	case workloads.Semaphore:
		p.permits = 1 + rnd.IntN(4)
		p.units = 1 + rnd.IntN(p.permits)
	}
	if rnd.IntN(3) == 0 {
		p.wait = 30*p.delay + between(0, time.Second)
	}
	if rnd.IntN(4) == 0 {
		p.reap = 3 * time.Second
		p.think = 300 * time.Millisecond
	}
	p.heal = between(15*time.Second, 40*time.Second)
	if faults {
		p.drawFaults(rnd, between)
	}
	p.stop = p.heal + p.timeout + 2*p.tick + 12*time.Second
	return p
}

// drawFaults chooses which kinds this seed has, and then the faults.
func (p *plan) drawFaults(rnd *rand.Rand, between func(least, most time.Duration) time.Duration) {
	var chosen []int
	for i := range kinds {
		if rnd.IntN(2) == 0 {
			chosen = append(chosen, i)
		}
	}
	if len(chosen) == 0 {
		return
	}
	for range 1 + rnd.IntN(10) {
		k := kinds[chosen[rnd.IntN(len(chosen))]]
		f := planned{kind: k.name, at: between(2*time.Second, p.heal-time.Second), holder: rnd.IntN(2) == 0,
			oneWay: rnd.IntN(4) == 0}
		f.target = rnd.IntN(p.clients)
		if !k.clients || k.servers && rnd.IntN(2) == 0 {
			f.target = p.clients + rnd.IntN(servers)
		}
		if !k.momentary {
			f.lasts = min(between(50*time.Millisecond, []time.Duration{time.Second, p.timeout, 2 * p.timeout}[rnd.IntN(3)]),
				p.heal-f.at)
		} else if f.kind == kindReset && rnd.IntN(2) == 0 {
			f.holder, f.waiter, f.lasts = false, true, time.Second
			for range 1 + rnd.IntN(10) {
				f.again = append(f.again, 1+rnd.IntN(5))
			}
		}
		p.faults = append(p.faults, f)
	}
	slices.SortStableFunc(p.faults, func(a, b planned) int { return int(a.at - b.at) })
}
