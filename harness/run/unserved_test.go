package run

import (
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"locklab/ensembles"
	"locklab/ensembles/labtest"
	"locklab/harness/check/evidence"
	"locklab/harness/history"
	"locklab/harness/judge"
	"locklab/harness/watch"
)

// The disks of both followers hold, and no fault of the run explains it: the leader keeps them, because its sync limit
// is long, and nothing is committed. The run ends itself with that finding, and the lock is not accused. At its end the
// run undoes whatever it finds, so the servers serve again, as the last look shows.
func TestServersThatCommitNothing(t *testing.T) {
	t.Parallel()
	labtest.Require(t)
	sc := load(t, with("duration: 10m", "sync-limit: 3000"))
	var stage *Stage
	var once sync.Once
	stalled := make(chan error, 1)
	opts := Options{Binary: labtest.Binary(t), Log: labtest.Log(t), ProgressEvery: 100 * time.Millisecond}
	opts.Progress = func(p watch.Progress) {
		if p.Acquired < 20 {
			return
		}
		once.Do(func() {
			roles, err := stage.ensemble.Roles(t.Context())
			for _, h := range stage.ensemble.Servers {
				if err == nil && roles[h.Name] == ensembles.RoleFollower {
					_, err = h.Agent.Stall(t.Context(), "unseen")
				}
			}
			stalled <- err
		})
	}
	stage = open(t, sc, opts)
	dir := filepath.Join(t.ArtifactDir(), "run")
	showLogs(t, dir)
	if err := stage.Run(t.Context(), sc, dir); err != nil {
		t.Fatal(err)
	}
	if err := <-stalled; err != nil {
		t.Fatal(err)
	}
	out, err := judge.Check(dir)
	if err != nil {
		t.Fatal(err)
	}
	wantVerdict(t, out, evidence.Fail)
	v := out.Report.Check(evidence.ServiceLiveness)
	if v.Result != evidence.Fail || v.Findings[0].Kind != evidence.Kind(history.CommitsNothing) ||
		!strings.Contains(v.Summary, "it was over by itself at") || !strings.Contains(v.Summary, "2 followers in step") {
		t.Errorf("%s is %s: %s", v.Name, v.Result, v.Summary)
	}
	if v := out.Report.Check(evidence.Liveness); v.Result == evidence.Fail {
		t.Errorf("the lock is accused: %s", v.Summary)
	}
	if !out.Result.Partial || out.Interrupted {
		t.Errorf("partial %v, interrupted %v", out.Result.Partial, out.Interrupted)
	}
	if !strings.HasPrefix(out.Result.Headline, "Servers that were up did not serve") {
		t.Errorf("the headline is %q", out.Result.Headline)
	}
	if !stage.Fits(sc) {
		t.Error("the ensemble serves again, and another run does not use it")
	}
}
