package run

import (
	"os/exec"
	"path/filepath"
	"testing"

	"locklab/ensembles/labtest"
	"locklab/ensembles/labtest/suite"
	"locklab/harness/check/evidence"
	"locklab/harness/judge"
)

// kazooImage is the image that `make kazoo` makes.
const kazooImage = "locklab/kazoo:debian"

// The example drivers of the manual are real locks. The pause of a holder makes clients overlap, each overlap is
// explained by it, and no client is accused, also where the lock gives no tokens.
func TestExampleDrivers(t *testing.T) {
	suite.Nightly(t, "takes a minute, and makes kazoo's image; TestABrokenLockInShellIsFound runs a foreign lock")
	labtest.Require(t)
	const examples = "../../workloads/foreign/examples"
	zkLock := filepath.Join(t.TempDir(), "zk-lock")
	build := exec.Command("go", "build", "-o", zkLock, "./"+examples+"/zk-lock")
	build.Env = append(build.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, tt := range []struct {
		name, command, image string
		fair                 bool
	}{
		{"kazoo", examples + "/kazoo-lock", kazooImage, true},
		{"zk.Lock", zkLock, "", true},
		{"shell", examples + "/shell-lock", "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.image != "" {
				requireImage(t, tt.image)
			}
			out := executeExample(t, tt.command, tt.image)
			if c := out.Report.Check(evidence.ServiceExclusion); c == nil || c.Result != evidence.Pass {
				t.Errorf("%s: %+v", evidence.ServiceExclusion, c)
			}
			if c := out.Report.Check(evidence.Fairness); c == nil || tt.fair == (c.Result == evidence.NotApplicable) {
				t.Errorf("%s: %+v", evidence.Fairness, c)
			}
			safety := out.Result.Safety
			if number(safety.Overlaps) == 0 || number(safety.OverlapsUnexplained) != 0 {
				t.Errorf("%d overlaps, %d of them unexplained", number(safety.Overlaps), number(safety.OverlapsUnexplained))
				explain(t, out)
			}
			tried := executeBuiltin(t, "mutex", map[string]string{"recipe": "exec:" + tt.command, "client-image": tt.image,
				"servers": "1", "clients": "3", "warmup": "1s", "duration": "3s", "hold": "20ms", "think": "20ms",
				"try": "true", "observer": "false"})
			if n := tried.Result.Operations; n.Acquired == 0 || n.Busy == 0 || tried.Result.Failures.Count > 0 {
				t.Errorf("tries: %+v, %+v", n, tried.Result.Failures)
			}
		})
	}
}

// executeExample pauses a client that holds the lock of a command.
func executeExample(t *testing.T, command, image string) judge.Outcome {
	t.Helper()
	return executeBuiltin(t, "mutex-pause", map[string]string{"recipe": "exec:" + command, "client-image": image,
		"servers": "1", "warmup": "1s", "liveness": "0s", "min-acquired": "5", "observer": "false"})
}

// requireImage skips the test if the engine does not have the image, or fails it if that is required.
func requireImage(t *testing.T, image string) {
	t.Helper()
	if err := exec.Command("docker", "image", "inspect", image).Run(); err != nil {
		suite.Missing(t, "the image "+image, "kazoo", err)
	}
}
