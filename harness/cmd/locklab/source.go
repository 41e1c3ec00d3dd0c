package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"locklab/ensembles/agent"
	"locklab/ensembles/debian"
	"locklab/ensembles/docker"
	"locklab/ensembles/kubernetes"
	"locklab/harness/run"
	"locklab/harness/rundir"
	"locklab/harness/scenario"
	"locklab/harness/untrusted"
	"locklab/recipes/curator"
	"locklab/reports/result"
	"locklab/workloads"
)

// overrides are what a command line puts over a scenario.
type overrides struct {
	// A list, since kong would cut it at commas, which the scenario does itself.
	Threshold []string `sep:"none" group:"keys" placeholder:"LIMIT" predictor:"limit" help:"${threshold_help}"`

	Yes bool `help:"${yes_help}"`

	Keys kong.Plugins `embed:"" group:"keys"`

	// adopt gives a scenario the settings of the servers that it connects to; nil = run.Adopt.
	adopt func(context.Context, *scenario.Scenario) error
}

// resolve loads the scenario of that name, refuses one that cannot be run, and draws its seed if it has none.
func (o *overrides) resolve(ctx context.Context, in io.Reader, name string) (*scenario.Scenario, error) {
	sc, err := o.load(ctx, in, name)
	if err != nil {
		return nil, err
	}
	if err := result.Validate(sc); err != nil {
		return nil, err
	}
	if sc.Seed == 0 {
		sc.Seed = drawSeed()
	}
	return sc, nil
}

// confirm refuses scenarios whose load on an ensemble of the user's needs --yes.
func (o *overrides) confirm(all ...*scenario.Scenario) error {
	for _, sc := range all {
		if sc == nil || o.Yes {
			continue
		}
		if err := sc.CheckRate(); err != nil {
			return err
		}
	}
	return nil
}

func drawSeed() uint64 { return 1 + rand.Uint64N(1<<32) }

// load loads the scenario of that name and puts the environment and the flags over it.
func (o *overrides) load(ctx context.Context, in io.Reader, name string) (*scenario.Scenario, error) {
	sc, err := loadScenario(ctx, in, name)
	if err != nil {
		return nil, err
	}
	if err := scenario.CheckEnv(os.Environ(), otherVariables); err != nil {
		return nil, err
	}
	if err := sc.ApplyEnv(os.LookupEnv); err != nil {
		return nil, err
	}
	for _, group := range o.Keys {
		if err := setFlags(sc, group); err != nil {
			return nil, err
		}
	}
	if len(o.Threshold) > 0 {
		if err := sc.SetThresholds(o.Threshold); err != nil {
			return nil, err
		}
	}
	if err := sc.CheckConnect(); err != nil {
		return nil, err
	}
	if o.adopt != nil {
		return sc, o.adopt(ctx, sc)
	}
	return sc, run.Adopt(ctx, sc)
}

const (
	standardInput     = "-"
	standardInputName = "stdin" // in messages, and of a scenario without a name
	// mostScenario is far more than a scenario can use.
	mostScenario = 1 << 20
)

// loadScenario reads standard input, a file if the name looks like one, or a built-in scenario.
func loadScenario(ctx context.Context, in io.Reader, name string) (*scenario.Scenario, error) {
	var src []byte
	var err error
	file := name
	switch {
	case name == standardInput:
		file = standardInputName
		src, err = readInterruptibly(ctx, in, file)
	case !strings.ContainsAny(name, "/."):
		sc, err := scenario.Builtin(workloads.Builtin, name)
		if wrong, ok := errors.AsType[*scenario.InputError](err); ok {
			switch info, err := os.Stat(name); {
			case err != nil:
			case info.IsDir():
				wrong.Hint = "that is a directory; locklab check and locklab report read the directories of runs"
			default:
				wrong.Hint = "./" + name + " for the file of that name; built-in scenarios: see locklab scenarios list"
			}
		}
		return sc, err
	default:
		src, err = untrusted.Read(name, mostScenario)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		hint := "built-in scenarios go without .yaml; see locklab scenarios list"
		return nil, &scenario.InputError{File: name, Msg: "no such file", Hint: hint}
	case ctx.Err() != nil:
		return nil, err
	case err != nil:
		return nil, &scenario.InputError{Msg: err.Error()}
	}
	return scenario.Load(file, src)
}

// readInterruptibly reads to the end of a stream, which a person may be typing. If the context ends before, so does the
// reading as far as the caller is concerned.
func readInterruptibly(ctx context.Context, in io.Reader, name string) ([]byte, error) {
	type read struct {
		b   []byte
		err error
	}
	done := make(chan read, 1)
	go func() {
		b, err := untrusted.ReadAll(in, name, mostScenario)
		done <- read{b, err}
	}()
	select {
	case r := <-done:
		return r.b, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// outVariable sets --out of every command that has the flag.
const outVariable = "LOCKLAB_OUT"

// outDir returns the directory that --out names, or else a new one under runs/ whose name begins so.
func outDir(out, name string) string { return cmp.Or(out, rundir.DefaultDir(name, time.Now())) }

// otherVariables are the variables that do not set a key of a scenario: where results go, where images and jars come
// from, what agents are told, and what chooses among tests. A name that ends in _ stands for every name that begins
// with it.
var otherVariables = append([]string{
	outVariable,
	docker.EnvImage, debian.EnvMirror, curator.EnvJars,
	agent.EnvHost, agent.EnvSecret, agent.EnvLease, agent.EnvControl, agent.EnvPublished,
	agent.EnvSurroundings, agent.EnvElsewhere, agent.EnvCredential, agent.EnvTLS,
	"LOCKLAB_TEST_", "LOCKLAB_SOAK", "LOCKLAB_SOAK_TIME", "LOCKLAB_STEPS_SEED", "LOCKLAB_TXNLOG_RUNS",
	"LOCKLAB_ZKTEST_SEED",
	"LOCKLAB_GATE_CURVE", "LOCKLAB_GATE_CURVE_FOR", "LOCKLAB_GATE_CURVE_MACHINE", "LOCKLAB_GATE_CURVE_WEATHER",
}, kubernetes.Variables...)
