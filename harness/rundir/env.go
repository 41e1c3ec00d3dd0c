package rundir

import (
	"fmt"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"

	"golang.org/x/sys/unix"
)

// Env is env.json: what a run ran on.
type Env struct {
	// Format is the version of the run directory; see [Format]. It is 0 in a directory of format 1.
	Format      int      `json:"format"`
	Run         string   `json:"run"` // the run's id, which no other run has
	Lab         string   `json:"lab"`
	LabID       string   `json:"lab_id"` // is in the names and labels of the lab's containers and networks
	Image       string   `json:"image"`
	ZooKeeper   string   `json:"zookeeper"`    // version; several with commas if the servers start with different ones
	JavaOptions []string `json:"java_options"` // of each server
	// ZooKeepers are the versions that the servers told at the start, with their builds, by server.
	ZooKeepers map[string]string `json:"zookeepers,omitempty"`
	// Lock describes the program of a recipe that is not built into locklab; empty for a recipe that is.
	Lock      string `json:"lock,omitempty"`
	Kernel    string `json:"kernel"`
	CPUs      int    `json:"cpus"`
	MemoryKiB int64  `json:"memory_kib"`
	Go        string `json:"go"`
	Locklab   string `json:"locklab"` // version, if it is a release, and revision of the binary; empty if neither is known
	// ClientBinary describes the binary of the client processes if it is another one than the harness's.
	ClientBinary string `json:"client_binary,omitempty"`
	// Relayed has, by client host, the servers to which its clients did not connect themselves, but through a process of
	// locklab's that passes on what they send.
	Relayed map[string][]string `json:"relayed,omitempty"`
	// EnsembleReadyNs is the time from the start of the servers until the ensemble had a leader and followers and each
	// server had committed a write.
	EnsembleReadyNs int64 `json:"ensemble_ready_ns"`
	// WarmUp is how the servers were warmed up before the first run on them; nil if they were not.
	WarmUp *WarmUp `json:"warm_up,omitempty"`
	// StartedUnixNs is the wall clock at the run's base.
	StartedUnixNs int64 `json:"started_unix_ns"`
	// SessionTimeoutNs is the session timeout that the servers grant.
	SessionTimeoutNs int64 `json:"session_timeout_ns"`

	_ struct{}
}

// A WarmUp says how fresh servers were loaded before the first run on them.
type WarmUp struct {
	Windows int  `json:"windows"`
	Steady  bool `json:"steady"` // their throughput no longer rose
}

func (w WarmUp) String() string {
	if w.Steady {
		return fmt.Sprintf("until their throughput no longer rose, after %d windows", w.Windows)
	}
	return fmt.Sprintf("for %d windows, after which their throughput still rose", w.Windows)
}

// NewEnv returns what is known of a run's environment before there is a lab.
func NewEnv() Env {
	e := Env{CPUs: runtime.NumCPU(), Go: runtime.Version(), Locklab: revision()}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		e.Kernel = unix.ByteSliceToString(u.Release[:])
	}
	var s unix.Sysinfo_t
	if unix.Sysinfo(&s) == nil {
		e.MemoryKiB = int64(s.Totalram) * int64(s.Unit) / 1024
	}
	return e
}

// release is a release's version. The linker sets it: -ldflags '-X locklab/harness/rundir.release=v1.2.3'.
var release string

// Release returns the version of the running binary, such as v1.2.3; empty if it is no release.
func Release() string { return release }

// revision returns the revision that the running binary was built from, after its version if it is a release; empty if
// neither is known.
func revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return release
	}
	of := ""
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			of = s.Value
		}
	}
	return strings.TrimSpace(release + " " + of)
}

// WriteEnv writes the environment of a run.
func WriteEnv(dir string, e Env) error { return WriteJSON(filepath.Join(dir, EnvFile), e) }

// ReadEnv reads the environment of a run. A version of the run directory that is not known is an [ErrBadFile].
func ReadEnv(dir string) (Env, error) {
	var e Env
	err := ReadJSON(filepath.Join(dir, EnvFile), &e)
	if err == nil && (e.Format < 0 || e.Format > Format) {
		err = fmt.Errorf("read %s: %w: the run directory has format %d, and this locklab reads formats 1 to %d; "+
			"use a newer locklab", EnvFile, ErrBadFile, e.Format, Format)
	}
	return e, err
}
