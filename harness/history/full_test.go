package history

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// recordUntilFull is the body of the process of TestNoRoom, which has mounts of its own. It prints why recording
// failed.
func recordUntilFull(dir string) {
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=10m"); err != nil {
		fmt.Println("no mount:", err)
		return
	}
	rec, err := NewRecorder(dir, "c1", NewClock())
	if err != nil {
		panic(err)
	}
	for err == nil {
		err = rec.Record(Event{Op: OpLost, Detail: strings.Repeat("x", 1000)})
	}
	fmt.Println(err)
}

// Where a segment finds no room, recording fails and says why. It does not kill the process.
func TestNoRoom(t *testing.T) {
	cmd := exec.Command(os.Args[0], t.TempDir())
	cmd.Env = append(os.Environ(), "LOCKLAB_TEST_ROLE=full")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}}
	out, err := cmd.CombinedOutput()
	if err != nil && len(out) == 0 || strings.HasPrefix(string(out), "no mount:") {
		t.Skipf("this machine grants no mount: %v %s", err, out)
	}
	said := string(out)
	if err != nil || !strings.Contains(said, "reserve 4 MiB for ") || !strings.Contains(said, "no space left") {
		t.Errorf("the process ended with %v and said: %s", err, out)
	}
}
