package series

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"locklab/ensembles/labtest"
	"locklab/harness/check/evidence"
	"locklab/harness/run"
	"locklab/harness/rundir"
	"locklab/harness/scenario"
)

// Servers as in production are warmed up once, before the first run, and each run on them says so. Nothing is left of
// the windows.
func TestServersAreWarmedUp(t *testing.T) {
	labtest.Require(t)
	sc, err := scenario.Load("warm.yaml", []byte(`
name: warm
workload: mutex
servers: 1
jvm: production
storage: tmpfs
clients: 4
client-processes: 1
hold: 1ms
warmup: 200ms
duration: 1s
schedule: explicit
faults: [{kind: pause, target: c1, at: 100ms, for: 100ms}]
min-acquired: 1
`))
	if err != nil {
		t.Fatal(err)
	}
	sc.Lab = labtest.Kind()
	base := t.TempDir()
	labs := Labs{Options: run.Options{Binary: labtest.Binary(t), Log: labtest.Log(t)}, window: time.Second}
	defer func() {
		if err := labs.Close(); err != nil {
			t.Error(err)
		}
	}()
	var first *rundir.WarmUp
	for _, name := range []string{"1", "2"} {
		dir := filepath.Join(base, name)
		out, err := labs.Run(t.Context(), Job{Scenario: sc, Dir: dir, Undrawn: true})
		if err != nil || out.Report.Verdict == evidence.Fail || len(out.Report.Faults) != 1 {
			t.Fatal(out.Report.Verdict, out.Result.Headline, err)
		}
		env, err := rundir.ReadEnv(dir)
		if err != nil || env.WarmUp == nil || env.WarmUp.Windows < 2 || env.WarmUp.Windows > 6 ||
			!env.WarmUp.Steady && env.WarmUp.Windows < 6 || first != nil && *first != *env.WarmUp {
			t.Errorf("run %s: %+v, %v", name, env.WarmUp, err)
		}
		first = env.WarmUp
	}
	if left, err := filepath.Glob(filepath.Join(os.TempDir(), "locklab-warm-up-*")); len(left) > 0 || err != nil {
		t.Error(left, err)
	}
}
