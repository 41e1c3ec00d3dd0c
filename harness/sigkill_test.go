package harness

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
	"locklab/harness/history"
)

// storm is a short run in which a client is stopped, the leader cut off, a disk held, a client process dead and
// a link lossy, all at once.
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

// swarming is a short run whose faults are drawn, one after the other as fast as they come.
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

// A moment of a run, at which its harness is killed.
type moment struct {
	name string
	// source is the scenario; "" = storm.
	source string
	// reached is asked until it says yes.
	reached func(t *testing.T, c *command, w *watch) bool
	// spread bounds how much later the kill is, drawn at random: where the run ends soon after, it is short.
	spread time.Duration
	// seldom says that it is much like another, and only among the hundred.
	seldom bool
}

func recorded(ok func(history.Event) bool) func(*testing.T, *command, *watch) bool {
	return func(t *testing.T, _ *command, w *watch) bool { return w.seen(t, ok) }
}

func inPhase(name string) func(*testing.T, *command, *watch) bool {
	return recorded(func(e history.Event) bool { return e.Op == history.OpPhase && e.Detail == name })
}

// inForce reports whether so many faults are.
func inForce(n int) func(*testing.T, *command, *watch) bool {
	return func(t *testing.T, _ *command, w *watch) bool { return len(w.inForce(t)) >= n }
}

// lasting is the same, of kinds that are in force for a while each.
var lasting = strings.Replace(swarming, "schedule: swarm", "schedule: random\nfault-kinds: pause,partition,loss,mute,stop,slow-disk", 1)

// requested is when a run asks for its first fault. There is one in every swarm.
var requested = recorded(func(e history.Event) bool { return e.Op == history.OpFaultInject && e.Kind == history.Invoke })

// drawnWindow is from the first of drawn faults to about the end of the measured window.
const drawnWindow = 5 * time.Second

// moments are in the order in which a run comes to them. More than half are among faults.
var moments = []moment{
	{name: "network made", spread: time.Second, reached: func(t *testing.T, c *command, _ *watch) bool { return len(c.look(t).Networks) > 0 }},
	{name: "ensemble starts", spread: 2 * time.Second, reached: func(t *testing.T, c *command, _ *watch) bool {
		o := c.look(t)
		return len(o.Running) > 0
	}},
	{name: "clients connect", spread: 500 * time.Millisecond, reached: inPhase(history.PhaseConnect)},
	{name: "fault requested", spread: 300 * time.Millisecond, reached: requested, seldom: true},
	{name: "several faults in force", spread: 500 * time.Millisecond, reached: inForce(3)},
	{name: "all faults in force", spread: time.Second, reached: inForce(5)},
	{name: "healing", spread: 300 * time.Millisecond, reached: recorded(func(e history.Event) bool { return e.Op == history.OpFaultHeal })},
	{name: "swarm", source: swarming, spread: drawnWindow, reached: requested},
	{name: "drawn faults", source: lasting, spread: drawnWindow, reached: inForce(1)},
	{name: "swarm again", source: swarming, spread: drawnWindow, reached: requested, seldom: true},
	{name: "collect", source: full, spread: 200 * time.Millisecond, reached: inPhase(history.PhaseCollect)},
	{name: "judging", source: full, spread: 100 * time.Millisecond, reached: func(_ *testing.T, c *command, _ *watch) bool {
		_, err := os.Stat(filepath.Join(c.dir, historyFile))
		return err == nil
	}},
}

// soak is set for the long variants of tests.
const soak = "LOCKLAB_SOAK"

// The harness is killed at moments of runs full of faults, one run after the other. Nothing of a run
// outlives its leases, its directory can be judged and drawn, and clean removes the rest. LOCKLAB_SEED repeats one.
func TestSigkill(t *testing.T) {
	sigkills(t, slices.DeleteFunc(slices.Clone(moments), func(m moment) bool { return m.seldom }))
}

// The same, a hundred kills.
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

// soakSeed is of the moments, and of what is drawn in the runs.
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
	// among is the kills with a fault in force, and several those with more than one; kinds counts the faults.
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
	volumes := map[string][]string{} // by lab
	var marks []string               // of all labs
	count := tally{kinds: map[string]int{}}
	var leases sync.WaitGroup
	t.Run("kills", func(t *testing.T) {
		for i, m := range all {
			// The moment is drawn, not waited for.
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
				w := newWatch(c.dir)
				defer w.close()
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
					volumes[c.lab] = c.volumes
					marks = append(marks, c.lab)
				}
				if w.seen(t, func(history.Event) bool { return true }) && len(c.volumes) < 3 {
					t.Errorf("saw volumes %v of three servers: the test looks in the wrong place", c.volumes)
				}
				// The next run begins while this one's leases lapse.
				leases.Go(func() { labtest.AwaitGone(outer, c.lab, c.volumes, leaseCap-time.Since(killed)) })
				t.Parallel() // judged when all are killed, several at once
				c.wantJudgeable(t, w)
			})
		}
	})
	leases.Wait()
	if code, _ := again(t, "clean"); code != 0 {
		t.Errorf("clean: exit code %d", code)
	}
	left, err := labtest.Labs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for lab, v := range volumes {
		if o := left[lab]; o != nil {
			t.Errorf("lab %s after clean: %+v", lab, o)
		}
		labtest.AwaitGone(t, lab, v, time.Second)
	}
	// No rule, interface, route, namespace or process either.
	labtest.AwaitSameMachine(t, before, marks...)
	t.Log(count.String())
	// Two of the moments are certain to be among faults, most others are likely to.
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

// wantJudgeable holds that check and report work on whatever directory there is.
func (c *command) wantJudgeable(t *testing.T, w *watch) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(c.dir, scenarioFile)); errors.Is(err, os.ErrNotExist) {
		if code, _ := again(t, "check", c.dir); code != 2 {
			t.Errorf("check of no run: exit code %d, want 2", code)
		}
		return
	}
	complete := w.seen(t, func(e history.Event) bool { return e.Op == history.OpEnd && e.Detail == history.EndComplete })
	if !complete {
		c.wantPartial(t)
		return
	}
	// The record is whole: only the judging was cut short, and can be caught up on.
	readResult(t, c.dir)
	if code, out := again(t, "check", c.dir); code != 0 && code != 3 && code != 6 {
		t.Errorf("check of a whole record: exit code %d:\n%s", code, out)
	}
	if r := readResult(t, c.dir); r.Partial {
		t.Error("a whole record is called partial")
	}
	if code, _ := again(t, "report", c.dir); code != 0 {
		t.Errorf("report: exit code %d", code)
	}
}
