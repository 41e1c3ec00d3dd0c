package run

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"locklab/ensembles/labtest"
	"locklab/harness/check/evidence"
	"locklab/harness/rundir"
)

// The demonstration shows what the README says: nothing without a fault, damage by a holder that is stopped, and no
// damage behind fencing.
func TestDemo(t *testing.T) {
	t.Parallel()
	labtest.Require(t)
	dir := filepath.Join(t.ArtifactDir(), "demo")
	code, out := runToEnd(t, "demo", "--lab", labtest.Kind(), "--out", dir)
	if code != 0 || !strings.Contains(out, "damage shown") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	for act, harm := range map[string]bool{"act1-calm": false, "act2-paused": true, "act3-fenced": false} {
		r := readResult(t, filepath.Join(dir, act))
		if lost := number(r.Safety.LostUpdates); r.Verdict != evidence.Pass || lost < 0 || harm != (lost > 0) {
			t.Errorf("%s: %s, %d updates lost: %s", act, r.Verdict, lost, r.Headline)
		}
		if st, err := os.Stat(filepath.Join(dir, act, rundir.ReportFile)); err != nil || st.Size() == 0 {
			t.Errorf("%s has no report: %v", act, err)
		}
	}
}
