package run

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"locklab/ensembles/labtest"
	"locklab/reports/result"
)

// noLock is a lock of a few lines of shell that is broken on purpose, because it always grants.
const noLock = `#!/bin/sh
echo locklab-lock 1 per-client
while read -r verb id rest; do
  case $verb in
  open) echo "opened $id" ;;
  acquire) echo "granted $id" ;;
  release) echo "released $id" ;;
  close) echo "closed $id" ;;
  end) exit ;;
  esac
done
`

// The command line finds overlaps in a lock that it has never seen, and exits with 3.
func TestABrokenLockInShellIsFound(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs an ensemble")
	}
	labtest.Require(t)
	dir := t.TempDir()
	lock, out := filepath.Join(dir, "no-lock"), filepath.Join(dir, "run")
	if err := os.WriteFile(lock, []byte(noLock), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(labtest.Binary(t), "run", "mutex", "--recipe", "exec:"+lock, "--servers", "1", "--clients", "4",
		"--duration", "2s", "--warmup", "100ms", "--hold", "2ms", "--json", "--out", out)
	cmd.Stderr = t.Output()
	stdout, err := cmd.Output()
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok || exit.ExitCode() != 3 {
		t.Fatalf("ended with %v, want exit status 3\n%s", err, stdout)
	}
	var r result.Result
	if err := json.Unmarshal(stdout, &r); err != nil {
		t.Fatal(err)
	}
	if r.Safety.Overlaps == nil || *r.Safety.Overlaps == 0 {
		t.Errorf("no overlaps in %s", stdout)
	}
}
