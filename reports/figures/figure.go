package figures

import (
	"fmt"
	"slices"
	"strings"
)

// A Figure is a measured table of a manual.
type Figure struct {
	Name   string // of its file of records, and of its section in the manual
	Manual string // by its path from the root
	Rounds int    // how many are measured of each cell
	Pieces []Piece
	// Keys are the columns that say which cell a row is, and Columns are the names of its numbers in the catalogue.
	Keys, Columns []string
	// Base is how the value of the last key ends to which the throughput of the others is compared, in the same round.
	// Empty = nothing is compared.
	Base string
	// Across is the key along the x axis of the figure's picture, which has a panel for each of the columns Drawn; empty =
	// there is no picture.
	Across string
	Drawn  []string

	_ struct{}
}

// A Piece is what is measured in one go: peers of a lock in turn, or a sweep.
type Piece struct {
	Name string
	// Lock names the peers, which are measured with so many clients that share so many locks.
	Lock           string
	Clients, Locks int
	// Sweep has the arguments of `locklab sweep`; empty = peers are measured.
	Sweep []string

	_ struct{}
}

// The names of a cell's keys that peers have. A sweep's keys are those that it varies.
const (
	KeyLock    = "lock"
	KeyClients = "clients"
	KeyLocks   = "locks"
	KeyPeer    = "peer"
)

func peers(lock string, locks int, clients ...int) (all []Piece) {
	for _, n := range clients {
		all = append(all, Piece{Name: fmt.Sprintf("%s-%d-%d", lock, locks, n), Lock: lock, Locks: locks, Clients: n})
	}
	return all
}

// production are the arguments that all sweeps have.
var production = []string{"--jvm", "production", "--yes"}

func sweep(args ...string) []Piece {
	return []Piece{{Name: "sweep", Sweep: append(args, production...)}}
}

// Columns of tables.
var (
	ofLocks = []string{"acquired_per_s", "acquire.p50", "acquire.p99", "handoff.p50", "server.requests_per_acquire",
		"load_per_acquire", "server_per_acquire"}
	ofSweeps = []string{"acquired_per_s", "acquire.p50", "acquire.p99", "handoff.p50", "load_per_acquire",
		"server_per_acquire"}
	ofFailovers = []string{"failovers", "failover_mean", "failover_max"}
	ofOutages   = []string{"handoff.max", "acquire.max", "acquired_per_s"} // of servers, which strike every lock
)

// All are the figures that `make figures` measures. The gate's curve, the danger curve and the soaks take longer, and
// have commands of their own.
var All = []Figure{
	{Name: "peers", Manual: "reports/measurements/locks.md", Rounds: 10, Base: "@5.7.1",
		Pieces: peers("mutex", 1, 1, 64, 256, 1000), Keys: []string{KeyClients, KeyPeer}, Columns: ofLocks,
		Across: KeyClients, Drawn: []string{"acquired_per_s", "acquire.p99"}},
	{Name: "more-peers", Manual: "reports/measurements/locks.md", Rounds: 6, Base: "@5.7.1",
		Pieces: slices.Concat(peers("mutex", 64, 64), peers("rw", 1, 1, 64), peers("semaphore", 1, 1, 64, 256)),
		Keys:   []string{KeyLock, KeyLocks, KeyClients, KeyPeer}, Columns: ofLocks},
	{Name: "workloads", Manual: "reports/measurements/sweeps.md", Rounds: 5,
		Pieces: sweep("mutex", "--param", "workload=mutex,read-write,semaphore", "--param", "clients=1,2,8,32,128",
			"--hold", "5ms", "--warmup", "1s", "--duration", "3s"),
		Keys: []string{"workload", "clients"}, Columns: ofSweeps, Across: "clients",
		Drawn: []string{"acquired_per_s", "acquire.p99"}},
	{Name: "shards", Manual: "reports/measurements/sweeps.md", Rounds: 5,
		Pieces: sweep("mutex", "--param", "locks=1,10", "--param", "clients=8,64,500", "--hold", "5ms", "--warmup", "1s",
			"--duration", "6s"),
		Keys: []string{"locks", "clients"}, Columns: ofSweeps},
	{Name: "skew", Manual: "reports/measurements/sweeps.md", Rounds: 5,
		Pieces: sweep("hot-locks", "--param", "locks=4,16,64", "--param",
			"lock-choice=uniform,zipf(1.1),zipf(1.5)", "--warmup", "1s", "--duration", "5s"),
		Keys:    []string{"locks", "lock-choice"},
		Columns: append([]string{"fairness.jain", "fairness.hold_rsd", "held_share"}, ofSweeps...), Across: "locks",
		Drawn: []string{"acquired_per_s", "acquire.p99"}},
	{Name: "distance", Manual: "reports/measurements/sweeps.md", Rounds: 5,
		Pieces: sweep("mutex", "--param", "round-trip=0s,2ms,10ms,50ms", "--param", "clients=1,16", "--warmup", "1s",
			"--duration", "6s", "--min-acquired", "20"),
		Keys: []string{"round-trip", "clients"}, Columns: append([]string{"server.requests_per_acquire"}, ofSweeps...),
		Across: "round-trip", Drawn: []string{"acquired_per_s", "handoff.p50"}},
	{Name: "deaths", Manual: "reports/measurements/sweeps.md", Rounds: 5,
		Pieces: sweep("mutex", "--param", "die-share=0,0.001,0.01,0.1", "--param", "session-timeout=2s,6s", "--warmup", "1s",
			"--duration", "20s", "--min-acquired", "5"),
		Keys: []string{"session-timeout", "die-share"}, Columns: append([]string{"handoff.p99"}, ofSweeps...),
		Across: "die-share", Drawn: []string{"acquired_per_s", "acquire.p50"}},
	{Name: "ran-out", Manual: "reports/measurements/sweeps.md", Rounds: 5,
		Pieces: sweep("mutex", "--storage", "disk", "--param", "clients=1,4,16,64", "--param", "hold=0s,20ms", "--warmup",
			"1s", "--duration", "4s"),
		Keys:    []string{"hold", "clients"},
		Columns: append([]string{"held_share", "handoff_share", "server_processors", "fsync_share_most"}, ofSweeps...)},
	{Name: "failover-holder", Manual: "reports/measurements/failover.md", Rounds: 5,
		Pieces: sweep("failover-holder", "--param", "session-timeout=1s,4s", "--param", "tick=100ms,500ms"),
		Keys:   []string{"session-timeout", "tick"}, Columns: ofFailovers},
	{Name: "failover-leader", Manual: "reports/measurements/failover.md", Rounds: 5,
		Pieces: sweep("failover-leader", "--param", "tick=100ms,500ms"),
		Keys:   []string{"tick"}, Columns: ofOutages},
	{Name: "failover-leader-partition", Manual: "reports/measurements/failover.md", Rounds: 5,
		Pieces: sweep("failover-leader-partition", "--param", "tick=100ms,500ms"),
		Keys:   []string{"tick"}, Columns: ofOutages},
}

// Named returns the figures of these names, with commas; all if there are none.
func Named(names string) (chosen []*Figure, err error) {
	for name := range strings.SplitSeq(names, ",") {
		before := len(chosen)
		for i := range All {
			if names == "" || All[i].Name == name {
				chosen = append(chosen, &All[i])
			}
		}
		if len(chosen) == before {
			var known []string
			for i := range All {
				known = append(known, All[i].Name)
			}
			return nil, fmt.Errorf("there is no figure %q; there are %s", name, strings.Join(known, ", "))
		}
	}
	return chosen, nil
}

// mostTries is how often as many rounds are measured of a piece as it has, before it counts as too disturbed.
const mostTries = 2

// Missing reports whether a piece needs another round under these conditions, and the number of that round. A piece
// that was disturbed again and again has no further round.
func (f *Figure) Missing(p *Piece, under Conditions, all []Record) (round int, missing bool) {
	good := map[string]int{}
	tried := map[int]bool{}
	for i := range all {
		r := &all[i]
		if r.Piece != p.Name {
			continue
		}
		round = max(round, r.Round)
		if r.Conditions != under {
			continue
		}
		tried[r.Round] = true
		if cell := f.row(r); r.Shown() {
			good[cell]++
		} else {
			good[cell] += 0
		}
	}
	missing = len(good) == 0
	for _, n := range good {
		missing = missing || n < f.Rounds
	}
	return round + 1, missing && len(tried) < mostTries*f.Rounds
}

// row identifies a cell.
func (f *Figure) row(r *Record) string {
	var values []string
	for _, key := range f.Keys {
		values = append(values, r.Cell[key])
	}
	return strings.Join(values, "\t")
}
