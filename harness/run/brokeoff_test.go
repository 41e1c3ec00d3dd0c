package run

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"locklab/ensembles"
	"locklab/harness/rundir"
	"locklab/harness/scenario"
)

// A process that ended by itself is locklab's failure only if it was locklab's own code that ended.
func TestEndedByItself(t *testing.T) {
	client, resource := &ensembles.Host{Name: "c1", Role: ensembles.Client}, &ensembles.Host{Name: "r1",
		Role: ensembles.Resource}
	driven := equipment{"exec:./lock": {{version: "lock sha256:1"}}}
	for _, c := range []struct {
		what, recipe, client string
		host                 *ensembles.Host
		how                  string
		outside              bool
		says                 string
	}{
		{"our client failed", "mutex", ownBinary, client, "exit status 2", false, "c1 ended by itself: exit status 2"},
		{"our resource failed", "exec:./lock", ownBinary, resource, "exit status 2", false, "r1 ended by itself"},
		{"a driver failed", "exec:./lock", ownBinary, client, "exit status 1", true, "driver of recipe exec:./lock failed"},
		{"memory ran out", "mutex", ownBinary, client, "signal: killed", true, "no memory left"},
		{"another binary failed", "mutex", "other", client, "exit status 2", true, "of another binary"},
	} {
		r := &run{stage: &Stage{foreign: driven}, sc: &scenario.Scenario{Recipe: c.recipe}, client: c.client}
		err := r.ended(c.host, c.how)
		if errors.Is(err, ErrBrokeOff) != c.outside || !strings.Contains(err.Error(), c.says) ||
			!strings.Contains(err.Error(), "process.log") {
			t.Errorf("%s: %v", c.what, err)
		}
	}
	dir := t.TempDir()
	r := &run{dir: dir, stage: &Stage{foreign: driven}, sc: &scenario.Scenario{Recipe: "exec:./lock"}, client: ownBinary}
	err := r.ended(client, "exit status 1")
	if got := r.lastWords(err); got.Error() != err.Error() {
		t.Errorf("without a log: %v", got)
	}
	log := filepath.Join(dir, rundir.LogPath("c1"))
	if err := errors.Join(os.MkdirAll(filepath.Dir(log), 0o755), os.WriteFile(log, []byte("begun\nno such module\n"),
		0o644)); err != nil {
		t.Fatal(err)
	}
	if got := r.lastWords(err); !errors.Is(got, ErrBrokeOff) || !strings.HasSuffix(got.Error(), ": no such module") {
		t.Errorf("with a log: %v", got)
	}
}
