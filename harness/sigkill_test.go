package harness

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"locklab/ensembles/labtest"
	"locklab/harness/history"
)

// A moment of a run, at which its harness is killed.
type moment struct {
	name string
	// reached is asked until it says yes.
	reached func(t *testing.T, c *command, w *watch) bool
	// soon bounds how much later the kill may be, where the run ends soon after; 0 = it does not.
	soon time.Duration
}

func recorded(ok func(history.Event) bool) func(*testing.T, *command, *watch) bool {
	return func(t *testing.T, _ *command, w *watch) bool { return w.seen(t, ok) }
}

func inPhase(name string) func(*testing.T, *command, *watch) bool {
	return recorded(func(e history.Event) bool { return e.Op == history.OpPhase && e.Detail == name })
}

// moments are in the order in which a run comes to them.
var moments = []moment{
	{name: "network made", reached: func(t *testing.T, c *command, _ *watch) bool { return len(c.look(t).Networks) > 0 }},
	{name: "first container", reached: func(t *testing.T, c *command, _ *watch) bool {
		o := c.look(t)
		return len(o.Running)+len(o.Created) > 0
	}},
	{name: "ensemble starts", reached: func(t *testing.T, c *command, _ *watch) bool { return len(c.look(t).Running) == fullHosts }},
	{name: "clients connect", reached: inPhase(history.PhaseConnect)},
	{name: "warm-up", reached: inPhase(history.PhaseWarmup)},
	{name: "fault requested", reached: recorded(func(e history.Event) bool { return e.Op == history.OpFaultInject && e.Kind == history.Invoke })},
	{name: "all faults in force", reached: func(t *testing.T, _ *command, w *watch) bool {
		for _, f := range []string{"f1", "f2", "f3"} {
			if !w.seen(t, faultVerified(f)) {
				return false
			}
		}
		return true
	}},
	{name: "healing", reached: recorded(func(e history.Event) bool { return e.Op == history.OpFaultHeal })},
	{name: "drain", soon: 500 * time.Millisecond, reached: inPhase(history.PhaseDrain)},
	{name: "collect", soon: 200 * time.Millisecond, reached: inPhase(history.PhaseCollect)},
	{name: "end recorded", soon: 200 * time.Millisecond, reached: recorded(func(e history.Event) bool { return e.Op == history.OpEnd })},
	{name: "judging", soon: 100 * time.Millisecond, reached: func(_ *testing.T, c *command, _ *watch) bool {
		_, err := os.Stat(filepath.Join(c.dir, historyFile))
		return err == nil
	}},
}

// soak is set for the long variants of tests.
const soak = "LOCKLAB_SOAK"

// The harness is killed at every moment of a run with a stopped client, a cut and
// a dead server, one run after the other. Nothing of the run outlives its leases,
// its directory can be judged and drawn, and clean removes the rest.
func TestSigkill(t *testing.T) { sigkills(t, moments, 7, 200*time.Millisecond) }

// The same a hundred times, further from the named moments. LOCKLAB_SEED repeats one.
func TestSigkillSoak(t *testing.T) {
	if os.Getenv(soak) != "1" {
		t.Skipf("takes about a quarter of an hour; %s=1 runs it", soak)
	}
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("LOCKLAB_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	var many []moment
	for i := range 100 {
		many = append(many, moments[i%len(moments)])
	}
	sigkills(t, many, seed, 2*time.Second)
}

func sigkills(t *testing.T, all []moment, seed uint64, spread time.Duration) {
	labtest.Require(t)
	outer := t
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	volumes := map[string][]string{} // by lab
	var leases sync.WaitGroup
	for i, m := range all {
		// The moment is drawn, not waited for.
		most := spread
		if m.soon > 0 {
			most = min(most, m.soon)
		}
		late := time.Duration(rng.Int64N(int64(most)))
		t.Run(fmt.Sprintf("%02d %s", i, m.name), func(t *testing.T) {
			c := begin(t, full)
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
			c.look(t)
			killed := time.Now()
			c.signal(t, syscall.SIGKILL)
			c.awaitEnd(t)
			if c.look(t); c.lab != "" {
				volumes[c.lab] = c.volumes
			}
			if w.seen(t, func(history.Event) bool { return true }) && len(c.volumes) < 3 {
				t.Errorf("saw volumes %v of three servers: the test looks in the wrong place", c.volumes)
			}
			c.wantJudgeable(t, w)
			// The next run begins while this one's leases lapse.
			leases.Go(func() { labtest.AwaitGone(outer, c.lab, c.volumes, leaseCap-time.Since(killed)) })
		})
	}
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
