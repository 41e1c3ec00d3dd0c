package run

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"locklab/ensembles/labtest"
	"locklab/ensembles/labtest/suite"
	"locklab/harness/history"
	"locklab/harness/rundir"
)

// storm is a short run in which at the same time a client is stopped, the leader cut off, a disk stalled, a client
// process dead and a link lossy.
const storm = `
name: storm
clients: 6
client-processes: 3
warmup: 300ms
duration: 6s
min-acquired: 1
session-timeout: 1s
tick: 200ms
storage: disk
seed: 7
faults:
  - {kind: pause, target: c1, at: 200ms, for: 3s}
  - {kind: slow-disk, target: follower, at: 200ms, for: 3s}
  - {kind: kill, target: c2, at: 400ms, for: 3s}
  - {kind: partition, target: leader, from: servers, at: 500ms, for: 3s}
  - {kind: loss, target: c3, from: servers, loss: 0.3, at: 500ms, for: 3s}
`

// swarming is a short run whose faults are drawn and follow one another as fast as possible.
const swarming = `
name: swarming
clients: 6
client-processes: 2
warmup: 300ms
duration: 6s
min-acquired: 1
session-timeout: 1s
tick: 200ms
storage: disk
schedule: swarm
fault-interval: 400ms
fault-length: 0.5T..2T
`

// A moment is a moment of a run at which its harness is killed.
type moment struct {
	name string
	// source is the scenario; "" = storm.
	source string
	// reached is called until it reports true.
	reached func(t *testing.T, c *command, w *follower) bool
	// spread bounds how much later the kill is, at random. It is short where the run ends soon after.
	spread time.Duration
	// seldom says that the moment is much like another one, so that only the soak has it.
	seldom bool
	// often says that every suite has the moment, and not only the nightly one.
	often bool
}

func recorded(ok func(history.Event) bool) func(*testing.T, *command, *follower) bool {
	return func(t *testing.T, _ *command, w *follower) bool { return w.seen(t, ok) }
}

func inPhase(phase history.Phase) func(*testing.T, *command, *follower) bool {
	return recorded(func(e history.Event) bool { return e.Op == history.OpPhase && e.Phase() == phase })
}

// inForce reports whether at least so many faults are in force.
func inForce(n int) func(*testing.T, *command, *follower) bool {
	return func(t *testing.T, _ *command, w *follower) bool { return len(w.inForce(t)) >= n }
}

// lasting is like swarming with kinds of faults that last a while.
var lasting = strings.Replace(
	swarming,
	"schedule: swarm",
	"schedule: random\nfault-kinds: pause,partition,loss,mute,stop,slow-disk",
	1,
)

// requested is when a run asks for its first fault. Every swarm has one.
var requested = recorded(
	func(e history.Event) bool { return e.Op == history.OpFaultInject && e.Kind == history.Invoke },
)

// drawnWindow is about the time from the first drawn fault to the end of the measured window.
const drawnWindow = 5 * time.Second

// moments are in the order in which a run reaches them. At more than half of them, faults are in force.
var moments = []moment{
	{
		name:    "network made",
		spread:  time.Second,
		reached: func(t *testing.T, c *command, _ *follower) bool { return len(c.look(t).Networks) > 0 },
	},
	{name: "ensemble starts", spread: 2 * time.Second, reached: func(t *testing.T, c *command, _ *follower) bool {
		o := c.look(t)
		return len(o.Running) > 0
	}},
	{name: "clients connect", spread: 500 * time.Millisecond, reached: inPhase(history.PhaseConnect)},
	{name: "fault requested", spread: 300 * time.Millisecond, reached: requested, seldom: true},
	{name: "several faults in force", spread: 500 * time.Millisecond, reached: inForce(3), often: true},
	{name: "all faults in force", spread: time.Second, reached: inForce(5)},
	{
		name:    "healing",
		spread:  300 * time.Millisecond,
		reached: recorded(func(e history.Event) bool { return e.Op == history.OpFaultHeal }),
	},
	{name: "swarm", source: swarming, spread: drawnWindow, reached: requested},
	{name: "drawn faults", source: lasting, spread: drawnWindow, reached: inForce(1)},
	{name: "second swarm", source: swarming, spread: drawnWindow, reached: requested, seldom: true},
	{name: "collect", source: full, spread: 200 * time.Millisecond, reached: inPhase(history.PhaseCollect)},
	{
		name:   "judging",
		source: full,
		spread: 100 * time.Millisecond,
		reached: func(_ *testing.T, c *command, _ *follower) bool {
			_, err := os.Stat(filepath.Join(c.dir, rundir.HistoryFile))
			return err == nil
		},
	},
}

// soak is set for the long variants of tests.
const soak = "LOCKLAB_SOAK"

// When the harness is killed at some moment of a run full of faults, nothing of its lab is left, and its directory can
// be judged and drawn. LOCKLAB_SEED repeats a kill.
func TestSigkill(t *testing.T) {
	sigkills(t, slices.DeleteFunc(slices.Clone(moments), func(m moment) bool {
		return m.seldom || !suite.All() && !m.often
	}))
}

// The soak has a hundred kills.
func TestSigkillSoak(t *testing.T) {
	if os.Getenv(soak) != "1" {
		t.Skipf("takes about half an hour; %s=1 runs it", soak)
	}
	var many []moment
	for i := range 100 {
		many = append(many, moments[i%len(moments)])
	}
	sigkills(t, many)
}

// soakSeed returns the seed of the moments and of the runs.
func soakSeed(t *testing.T) uint64 {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("LOCKLAB_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("LOCKLAB_SEED=%d draws the same moments and faults", seed)
	return seed
}

// A tally counts what became of the kills.
type tally struct {
	mu                     sync.Mutex
	begun, skipped, failed int
	// among counts the kills with a fault in force, several those with more than one, and kinds the faults.
	among, several int
	kinds          map[string]int
}

func (k *tally) String() string {
	var kinds []string
	for _, name := range slices.Sorted(maps.Keys(k.kinds)) {
		kinds = append(kinds, fmt.Sprintf("%s %d", name, k.kinds[name]))
	}
	return fmt.Sprintf("%d kills: %d passed, %d skipped, %d failed; with faults in force %d, with several %d (%s)",
		k.begun, k.begun-k.skipped-k.failed, k.skipped, k.failed, k.among, k.several, strings.Join(kinds, ", "))
}

func sigkills(t *testing.T, all []moment) {
	labtest.Require(t)
	outer := t
	rng := rand.New(rand.NewPCG(soakSeed(t), 0))
	before := labtest.LookAtMachine(t)
	var marks []string // of all labs
	count := tally{kinds: map[string]int{}}
	var going sync.WaitGroup
	t.Run("kills", func(t *testing.T) {
		for i, m := range all {
			// The moment is drawn at random and waits for nothing.
			late := time.Duration(rng.Int64N(int64(m.spread)))
			drawn := rng.Uint32()
			t.Run(fmt.Sprintf("%02d %s", i, m.name), func(t *testing.T) {
				count.begun++
				defer func() {
					count.mu.Lock()
					defer count.mu.Unlock()
					switch {
					case t.Failed():
						count.failed++
					case t.Skipped():
						count.skipped++
					}
				}()
				source, args := cmp.Or(m.source, storm), []string(nil)
				if source == swarming || source == lasting {
					args = []string{"--seed", strconv.Itoa(1 + int(drawn))}
				}
				c := begin(t, source, args...)
				w := newFollower(c.dir)
				defer w.Close()
				waitFor(t, c.done, m.name, func() bool {
					if len(c.volumes) < 3 {
						c.look(t) // the lab, and its servers' volumes, while they are there
					}
					return m.reached(t, c, w)
				})
				select {
				case <-c.done:
					t.Skipf("it ended within %v of the moment", late)
				case <-time.After(late):
				}
				o := c.look(t)
				marks = append(marks, o.IDs...)
				killed := time.Now()
				c.signal(t, syscall.SIGKILL)
				c.awaitEnd(t)
				faults := w.inForce(t)
				t.Logf("killed %v after the moment, with in force: %v", late.Round(time.Millisecond), faults)
				count.add(faults)
				if c.look(t); c.lab != "" {
					marks = append(marks, c.lab)
					// The next run begins while this one's lab is removed.
					going.Go(func() { labtest.AwaitGone(outer, c.lab, c.volumes, goneCap-time.Since(killed)) })
				}
				if w.seen(t, func(history.Event) bool { return true }) && len(c.volumes) < 3 {
					t.Errorf("saw volumes %v of three servers: the test looks in the wrong place", c.volumes)
				}
				t.Parallel() // judged when all are killed, several at once
				c.wantJudgeable(t, w)
			})
		}
	})
	going.Wait()
	// No rule, interface, route, namespace or process is left either.
	labtest.AwaitSameMachine(t, before, marks...)
	t.Log(count.String())
	// At two of the moments faults are certainly in force, and at most others they are likely to be.
	if count.among*len(moments) < 2*(count.begun-count.skipped) {
		t.Errorf("only %d of %d kills were while a fault was in force", count.among, count.begun)
	}
}

func (k *tally) add(faults []string) {
	if len(faults) > 0 {
		k.among++
	}
	if len(faults) > 1 {
		k.several++
	}
	for _, f := range faults {
		k.kinds[f]++
	}
}

// wantJudgeable checks that check and report work on the directory, whatever is in it.
func (c *command) wantJudgeable(t *testing.T, w *follower) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(c.dir, rundir.ScenarioFile)); errors.Is(err, os.ErrNotExist) {
		if code, _ := runToEnd(t, "check", c.dir); code != 2 {
			t.Errorf("check of no run: exit code %d, want 2", code)
		}
		return
	}
	complete := w.seen(
		t,
		func(e history.Event) bool { return e.Op == history.OpEnd && e.Ending() == history.EndComplete },
	)
	if !complete {
		c.wantPartial(t)
		return
	}
	// The raw files are complete. Only the judging was cut short, and can be done now.
	readResult(t, c.dir)
	if code, out := runToEnd(t, "check", c.dir); code != 0 && code != 3 && code != 6 {
		t.Errorf("check of a whole record: exit code %d:\n%s", code, out)
	}
	if r := readResult(t, c.dir); r.Partial {
		t.Error("a whole record is called partial")
	}
	if code, _ := runToEnd(t, "report", c.dir); code != 0 {
		t.Errorf("report: exit code %d", code)
	}
}
