package labtest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/ensembles"
	"locklab/ensembles/labtest/suite"
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

// StartOf makes a lab of a kind for the test and closes it at its end. On a machine that can have none, as the error
// says, it skips the test, or fails it where labs are required.
func StartOf(t testing.TB, kind ensembles.Kind, unavailable error, hosts ...ensembles.HostSpec) *ensembles.Lab {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a lab")
	}
	lab, err := ensembles.StartLab(t.Context(), kind,
		ensembles.LabConfig{Hosts: hosts, Binary: Binary(t), Log: Log(t)})
	if errors.Is(err, unavailable) && !suite.Required() {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := lab.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return lab
}

// LeavesNothing checks that a SIGKILL of the harness leaves no process, no namespace and no directory of its lab, which
// has that many hosts at least. dirs lists the directories of all labs of the kind; while the lab lives there are
// exactly that many more.
func LeavesNothing(t testing.TB, hosts, more int, dirs func() []string) {
	t.Helper()
	before, old := LookAtMachine(t), dirs()
	id, kill := StartToAbandon(t)
	program := "locklab-" + id
	if len(LookAtMachine(t).Changes(before, program)) < hosts {
		t.Error("the lab's processes are not seen")
	}
	if now := dirs(); len(now) != len(old)+more {
		t.Errorf("directories %v, before %v", now, old)
	}
	kill()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	err := ensembles.Poll(ctx, 20*time.Millisecond, "the lab to be gone", func() error {
		left := LookAtMachine(t).Changes(before, program)
		for _, d := range dirs() {
			if !slices.Contains(old, d) {
				left = append(left, d)
			}
		}
		if len(left) > 0 {
			return fmt.Errorf("left: %v", left)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
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
