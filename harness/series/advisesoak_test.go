package series

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"locklab/chaos"
	"locklab/ensembles/labtest"
	"locklab/harness/history"
	"locklab/harness/run"
	"locklab/harness/rundir"
	"locklab/harness/scenario"
	"locklab/reports/advice"
	"locklab/reports/measure"
	"locklab/reports/result"
	"locklab/reports/sweep"
	"locklab/workloads"
	"locklab/workloads/guard"
)

// The environment variables of the soak, and how long it takes without the second.
const (
	soakEnv      = "LOCKLAB_SOAK"
	soakTimeEnv  = "LOCKLAB_SOAK_TIME"
	soakTime     = 25 * time.Minute
	soakVictims  = 8
	soakTick     = 200 * time.Millisecond
	soakRunLasts = 5 * time.Minute // of one run; 1000 faults are more than it needs
)

// The pauses of the soak are distributed as Pareto's, which has so heavy a tail that the longest few are most of the
// time that is lost.
const (
	soakShortest = 300 * time.Millisecond
	soakLongest  = 10 * time.Second
	soakShape    = 1.2
)

// The bounds within which the advice must be.
const (
	soakRateFactor    = 2.0
	soakFailoverShare = 0.15
	soakLeast         = 10 // false expiries and failovers, for the comparison to mean anything
)

// A soak is one session timeout, measured on a lab of its own.
type soak struct {
	timeout time.Duration
	length  time.Duration
	dir     string
	pool    *Labs
	draw    *rand.Rand
}

// A soaked is what a soak saw and what the advice says of the same pauses.
type soaked struct {
	timeout time.Duration
	// Of the runs with pauses: the hours of all processes together, and the sessions that expired.
	hours     float64
	expired   int
	predicted advice.Option
	// Of the run with crashes.
	failovers         int
	failover, longest time.Duration
}

// advise's rate of false expiries is that of real sessions whose processes pause now and then, within a factor of 2,
// and its time without progress is that after real crashes, within 15 %. Three session timeouts soak side by side.
func TestAdviseSoak(t *testing.T) {
	if os.Getenv(soakEnv) != "1" {
		t.Skipf("takes about half an hour; %s=1 runs it", soakEnv)
	}
	labtest.Require(t)
	length := soakTime
	if text := os.Getenv(soakTimeEnv); text != "" {
		var err error
		if length, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	opts := run.Options{Binary: labtest.Binary(t), Log: labtest.Log(t)}
	var wg sync.WaitGroup
	for i, timeout := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
		s := soak{timeout: timeout, length: length, dir: filepath.Join(t.ArtifactDir(), timeout.String()),
			pool: &Labs{Options: opts, ClientProcesses: soakVictims + 1}, draw: rand.New(rand.NewPCG(20, uint64(i)))}
		// Labs start one after the other: three at once take a small machine longer than containers may take.
		if err := s.pool.Open(t.Context(), s.crashes(length/6)); err != nil {
			t.Errorf("T %s: %v", timeout, errors.Join(err, s.pool.Close()))
			continue
		}
		wg.Go(func() {
			got, err := s.soak(t.Context())
			if err = errors.Join(err, s.pool.Close()); err != nil {
				t.Errorf("T %s: %v", timeout, err)
				return
			}
			t.Log(got)
			for _, wrong := range got.wrong() {
				t.Errorf("T %s: %s", timeout, wrong)
			}
		})
	}
	wg.Wait()
}

// soak carries out the runs: five sixths of the time with pauses, the rest with crashes.
func (s *soak) soak(ctx context.Context) (*soaked, error) {
	var dirs []string
	for left, n := s.length*5/6, 1; left > 0; left, n = left-soakRunLasts, n+1 {
		dir := filepath.Join(s.dir, fmt.Sprintf("pauses-%02d", n))
		if _, err := s.run(ctx, s.pauses(min(left, soakRunLasts)), dir); err != nil {
			return nil, err
		}
		dirs = append(dirs, dir)
	}
	got, err := compared(s.timeout, dirs)
	if err != nil {
		return nil, err
	}
	r, err := s.run(ctx, s.crashes(s.length/6), filepath.Join(s.dir, "crashes"))
	if err != nil {
		return nil, err
	}
	if q, ok := result.Named("quantities.failovers"); ok && q.Value(r) != nil {
		got.failovers = int(*q.Value(r))
	}
	if mean, longest := r.Failover(); mean != nil {
		got.failover, got.longest = time.Duration(*mean), time.Duration(*longest)
	}
	return got, nil
}

// scenario is what the runs have in common. Clients are idle while they hold, so that the servers hear of them by
// their pings.
func (s *soak) scenario(name string, lasts, hold time.Duration) *scenario.Scenario {
	sc := scenario.Defaults()
	sc.Name, sc.Lab, sc.Storage = "advise-soak-"+name, labtest.Kind(), scenario.StorageTmpfs
	sc.SessionTimeout, sc.Tick, sc.Duration = s.timeout, soakTick, lasts.Round(time.Second)
	sc.Seed, sc.Drain = 1+s.draw.Uint64N(1<<32), workloads.DrainCancel
	sc.Locks, sc.LockChoice = soakVictims, workloads.Choice{Dealt: true}
	sc.Hold.Centre, sc.Think.Centre = hold, 100*time.Millisecond
	sc.Expect = map[string]string{"belief-exclusion": "any", "effect": "any", "fairness": "any"}
	return sc
}

// pauses is a run whose processes stop now and then, at any moment, each with one client that nobody contends with.
func (s *soak) pauses(lasts time.Duration) *scenario.Scenario {
	sc := s.scenario("pauses", lasts, 5*s.timeout)
	sc.ClientProcesses, sc.Clients = soakVictims, soakVictims
	// The servers hear of a client between two pauses: it pings every third of the timeout.
	s.strike(sc, s.timeout+500*time.Millisecond, func() chaos.Fault {
		length := min(soakLongest, time.Duration(float64(soakShortest)*math.Pow(1-s.draw.Float64(), -1/soakShape)))
		return chaos.Fault{Kind: "pause", For: chaos.Lasting(length.Round(time.Millisecond))}
	})
	return sc
}

// crashes is a run whose processes die now and then, each with one client that another one contends with.
func (s *soak) crashes(lasts time.Duration) *scenario.Scenario {
	sc := s.scenario("crashes", lasts, 2*s.timeout)
	sc.VictimAlone, sc.Victims, sc.ClientProcesses, sc.Clients = true, soakVictims, soakVictims+1, 2*soakVictims
	dead := chaos.Span{Expiry: true, Plus: time.Second}
	// Clients hold by turns, so a process holds when it dies about every second time.
	s.strike(sc, 3*s.timeout+2*time.Second, func() chaos.Fault { return chaos.Fault{Kind: "kill", For: dead} })
	return sc
}

// strike lets faults befall every victim as long as there is time, at least so far apart and at most twice as far.
func (s *soak) strike(sc *scenario.Scenario, apart time.Duration, next func() chaos.Fault) {
	for v := range soakVictims {
		for at := time.Duration(0); ; {
			f := next()
			f.Target = chaos.Target(fmt.Sprintf("c%d", v+1))
			f.At = (at + apart + time.Duration(s.draw.Float64()*float64(apart))).Round(time.Millisecond)
			if at = f.At + f.For.Resolve(s.timeout, soakTick); at+2*s.timeout > sc.Duration {
				break
			}
			sc.Faults = append(sc.Faults, f)
		}
	}
}

// run carries out one run. A violation, or a run that broke off, is an error.
func (s *soak) run(ctx context.Context, sc *scenario.Scenario, dir string) (*result.Result, error) {
	if err := sc.Validate(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return nil, err
	}
	out, err := s.pool.Run(ctx, Job{Scenario: sc, Dir: dir, Undrawn: true})
	switch {
	case err != nil:
		return nil, err
	case out.Result.Partial:
		return nil, fmt.Errorf("%s is partial", dir)
	case sweep.FailedCheck(&out.Result) != "":
		return nil, fmt.Errorf("%s: %s", dir, out.Result.Headline)
	}
	return &out.Result, nil
}

// compared counts the sessions of some runs of which their clients learned in the measured window that they had
// expired, and predicts their number from the clients' standstills.
func compared(timeout time.Duration, dirs []string) (*soaked, error) {
	got := &soaked{timeout: timeout}
	var logs []string
	for _, dir := range dirs {
		r, err := rundir.Read(dir)
		if err != nil {
			return nil, err
		}
		window := measure.MeasuredWindow(r.Events)
		for _, e := range r.Events.Of(history.OpExpired) {
			if window.Contains(e.At) {
				got.expired++
			}
		}
		of, err := standstillsLogged(dir, r.Events, window)
		if err != nil {
			return nil, err
		}
		logs = append(logs, of...)
	}
	pauses, err := advice.Read(logs, 0)
	if err != nil {
		return nil, err
	}
	got.hours = pauses.Span.Hours()
	a, err := advice.Advise(pauses, advice.Config{Tick: soakTick, Timeouts: []time.Duration{timeout}, Clients: 1,
		HandOff: 5 * time.Millisecond, Reconnect: 10 * time.Millisecond, AccessEvery: time.Second, Guard: guard.None})
	if err != nil {
		return nil, err
	}
	got.predicted = a.Options[0]
	return got, nil
}

// standstillsLogged writes the standstills that the clients of a run noticed, as their JVMs would have logged them: one
// file for each client's process. The run's own hiccups.hlog leaves out those that a fault caused.
func standstillsLogged(dir string, events *history.Log, window measure.Interval) (files []string, err error) {
	for v := range soakVictims {
		var log strings.Builder
		line := func(at int64, text string) { fmt.Fprintf(&log, "[%.3fs][info][safepoint] %s\n", float64(at)/1e9, text) }
		client := fmt.Sprintf("c%d", v+1)
		line(window.From, "the window begins")
		awake := window.From // since when
		for _, e := range events.Of(history.OpHiccup) {
			if e.Process == client && window.Contains(e.At) {
				slept := min(int64(e.Hiccup()), e.At-awake)
				line(e.At, fmt.Sprintf(`Safepoint "Pause", Time since last: %d ns, Total: %d ns`, e.At-awake-slept, slept))
				awake = e.At
			}
		}
		line(window.Until, "the window ends")
		file := dir + "." + client + ".log"
		if err := os.WriteFile(file, []byte(log.String()), 0o644); err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}

// expected turns a rate a year into the number in the time of the soak.
func (s *soaked) expected(aYear float64) float64 { return aYear * s.hours / advice.Year.Hours() }

// wrong says where the advice is out of bounds.
func (s *soaked) wrong() (all []string) {
	want := s.expected(s.predicted.FalseExpiries.AYear)
	if ratio := float64(s.expired) / want; !(ratio >= 1/soakRateFactor && ratio <= soakRateFactor) {
		all = append(all, fmt.Sprintf("%d false expiries, and %.1f predicted, which is not within a factor of %g", s.expired,
			want, soakRateFactor))
	}
	mean := time.Duration(s.predicted.WithoutProgress.MeanNs)
	if off := float64(s.failover-mean) / float64(mean); !(math.Abs(off) <= soakFailoverShare) {
		all = append(all, fmt.Sprintf("failovers took %s in the mean, and %s predicted, which is not within %g %%",
			s.failover, mean, 100*soakFailoverShare))
	}
	if s.expired < soakLeast || s.failovers < soakLeast {
		all = append(all, fmt.Sprintf("%d false expiries and %d failovers are too few to tell: at least %d", s.expired,
			s.failovers, soakLeast))
	}
	return all
}

func (s *soaked) String() string {
	f, w := s.predicted.FalseExpiries, s.predicted.WithoutProgress
	n, few, many := float64(s.expired), 0.0, distuv.Gamma{Alpha: float64(s.expired) + 1, Beta: 1}.Quantile(0.975)
	if n > 0 {
		few = distuv.Gamma{Alpha: n, Beta: 1}.Quantile(0.025)
	}
	return fmt.Sprintf("T %s, %.2f process hours: false expiries: %d seen (95 %%: %.1f to %.1f), %.1f predicted (%.1f to "+
		"%.1f), ratio %.2f; failovers: %d took %s in the mean and %s at most, %s predicted (%s to %s), ratio %.3f",
		s.timeout, s.hours, s.expired, few, many, s.expected(f.AYear), s.expected(f.Low), s.expected(f.High),
		n/s.expected(f.AYear), s.failovers, s.failover, s.longest, time.Duration(w.MeanNs), time.Duration(w.LeastNs),
		time.Duration(w.MostNs), float64(s.failover)/float64(w.MeanNs))
}

// The bounds hold on both sides, and too few of either prove nothing.
func TestSoakedKnowsWhatIsWrong(t *testing.T) {
	good := soaked{timeout: time.Second, hours: 2, expired: 40, failovers: 30, failover: time.Second}
	good.predicted.FalseExpiries.AYear = 20 * advice.Year.Hours() // 40 in two hours
	good.predicted.WithoutProgress.MeanNs = int64(time.Second)
	for name, c := range map[string]struct {
		change func(*soaked)
		wrong  int
	}{
		"as predicted":          {func(*soaked) {}, 0},
		"just within":           {func(s *soaked) { s.expired, s.failover = 79, 1140*time.Millisecond }, 0},
		"too many expiries":     {func(s *soaked) { s.expired = 81 }, 1},
		"too few expiries":      {func(s *soaked) { s.expired = 19 }, 1},
		"too slow failovers":    {func(s *soaked) { s.failover = 1160 * time.Millisecond }, 1},
		"too quick failovers":   {func(s *soaked) { s.failover = 840 * time.Millisecond }, 1},
		"hardly any failovers":  {func(s *soaked) { s.failovers = 9 }, 1},
		"nothing was predicted": {func(s *soaked) { s.predicted = advice.Option{} }, 2},
		"nothing happened":      {func(s *soaked) { s.expired, s.failovers, s.failover = 0, 0, 0 }, 3},
	} {
		s := good
		if c.change(&s); len(s.wrong()) != c.wrong {
			t.Errorf("%s: %q, want %d complaints", name, s.wrong(), c.wrong)
		}
	}
}

// The plans of a soak are valid, and the pauses leave the servers time to hear of the clients in between.
func TestSoakPlans(t *testing.T) {
	for _, timeout := range []time.Duration{time.Second, 4 * time.Second} {
		s := soak{timeout: timeout, draw: rand.New(rand.NewPCG(20, 0))}
		pauses := s.pauses(soakRunLasts)
		for _, sc := range []*scenario.Scenario{pauses, s.crashes(soakTime / 6)} {
			if err := sc.Validate(); err != nil {
				t.Fatal(err)
			}
		}
		over, long := map[chaos.Target]time.Duration{}, 0
		for _, f := range pauses.Faults {
			if f.At-over[f.Target] < timeout {
				t.Errorf("%s follows the one before after %s", f, f.At-over[f.Target])
			}
			over[f.Target] = f.At + f.For.Plus
			if f.For.Plus > timeout {
				long++
			}
		}
		if n := len(pauses.Faults); long < 10 || long > n/2 {
			t.Errorf("%d of %d pauses are longer than %s", long, n, timeout)
		}
	}
}
