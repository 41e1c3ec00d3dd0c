package labtest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"

	"locklab/ensembles"
)

// roleAbandon is the first argument of a test binary that is to abandon a lab. The second is the locklab binary.
const roleAbandon = "role-abandon"

// AbandonIfTold is for TestMain: a harness that a test kills must be a process of its own, which runs the same test
// binary. In that process it starts a lab, prints the lab's id and waits to be killed. In any other it returns at once.
func AbandonIfTold(kind ensembles.Kind, hosts ...ensembles.HostSpec) {
	if len(os.Args) != 3 || os.Args[1] != roleAbandon {
		return
	}
	lab, err := ensembles.StartLab(context.Background(), kind, ensembles.LabConfig{Binary: os.Args[2], Hosts: hosts,
		Log: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(lab.ID)
	select {}
}

// StartToAbandon starts a process that calls [AbandonIfTold]. It returns the id of the lab, and a function that kills
// the process. The leases of the lab are renewed up to that moment.
func StartToAbandon(t testing.TB) (id string, kill func()) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, roleAbandon, Binary(t))
	cmd.Stderr = t.Output()
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(errors.Join(err, cmd.Wait()))
	}
	return strings.TrimSpace(line), func() {
		t.Helper()
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
	}
}
