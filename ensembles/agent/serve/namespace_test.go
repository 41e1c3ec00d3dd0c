package serve

import (
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/vishvananda/netlink"

	"locklab/harness/history"
)

// envInside is set in a test that runs in a network namespace of its own.
const envInside = "LOCKLAB_TEST_INSIDE"

// inNamespace runs the calling test again in a network namespace in which no other process sends packets, and returns
// true there. Addresses of the loopback interface stand for hosts.
func inNamespace(t *testing.T) bool {
	t.Helper()
	if os.Getenv(envInside) == t.Name() {
		lo, err := netlink.LinkByName("lo")
		if err == nil {
			err = netlink.LinkSetUp(lo)
		}
		if err != nil {
			t.Fatal(err)
		}
		return true
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=60s")
	cmd.Env = append(os.Environ(), envInside+"="+t.Name())
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}}
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if cmd.Process == nil {
		t.Skipf("needs user namespaces: %v", err)
	}
	if err != nil {
		t.Error(err)
	}
	return false
}

func newRecorder(t *testing.T) *history.Recorder {
	t.Helper()
	rec, err := history.NewRecorder(t.TempDir(), "h1", history.NewClock())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rec.Close() })
	return rec
}
