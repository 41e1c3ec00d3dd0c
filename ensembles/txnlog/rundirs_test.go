package txnlog_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"locklab/ensembles"
	"locklab/ensembles/labtest"
)

// runsVar is the variable that names run directories whose logs are compared, separated like the directories of PATH.
const runsVar = "LOCKLAB_TXNLOG_RUNS"

// The reader agrees line by line with ZooKeeper's own tool on the transaction logs of runs:
//
//	LOCKLAB_TXNLOG_RUNS=runs/a:runs/b go test ./ensembles/txnlog -run TestRunsAgreeWithZooKeepersTool -v
func TestRunsAgreeWithZooKeepersTool(t *testing.T) {
	dirs := filepath.SplitList(os.Getenv(runsVar))
	if len(dirs) == 0 {
		t.Skipf("%s names no run directories", runsVar)
	}
	var files []ensembles.File
	for i, dir := range dirs {
		logs, err := filepath.Glob(filepath.Join(dir, "hosts", "*", "txnlog", "log.*"))
		if err != nil || len(logs) == 0 {
			t.Errorf("%s has no transaction logs (%v)", dir, err)
		}
		slices.Sort(logs)
		for _, log := range logs {
			source, err := filepath.Abs(log)
			if err != nil {
				t.Fatal(err)
			}
			server := filepath.Base(filepath.Dir(filepath.Dir(log)))
			files = append(files, ensembles.File{Source: source,
				Target: fmt.Sprintf("/run-%d-%s-%s", i, server, filepath.Base(log))})
		}
	}
	if t.Failed() {
		return
	}
	lab := labtest.Start(t, ensembles.HostSpec{Name: "zk1", Files: files})
	for _, f := range files {
		log, err := os.Open(f.Source)
		if err != nil {
			t.Fatal(err)
		}
		compare(t, lab.Host("zk1"), f.Target, log)
		log.Close()
	}
}
