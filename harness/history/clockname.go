package history

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// ClockName names the clock that a [Clock] of this process reads. Two processes whose clocks have the same name read
// the same clock: they run on one kernel since one boot, in one time namespace. It is empty where the kernel does not
// tell, which proves nothing.
//
// It fails where children of this process would have another clock than the process itself, because a host's agent and
// its process must have one.
func ClockName() (string, error) { return clockName(os.DirFS("/proc")) }

func clockName(proc fs.FS) (string, error) {
	boot, err := fs.ReadFile(proc, "sys/kernel/random/boot_id")
	if err != nil {
		return "", nil
	}
	own, err := fs.ReadLink(proc, "self/ns/time")
	if errors.Is(err, fs.ErrNotExist) {
		return strings.TrimSpace(string(boot)), nil // a kernel without time namespaces has one clock
	}
	children, forChildren := fs.ReadLink(proc, "self/ns/time_for_children")
	switch {
	case err != nil || forChildren != nil:
		return "", nil
	case own != children:
		return "", fmt.Errorf("children of this process have another clock (%s, and not %s); enter a time namespace with a "+
			"fork, as unshare --time --fork does", children, own)
	}
	return strings.TrimSpace(string(boot)) + " " + own, nil
}
