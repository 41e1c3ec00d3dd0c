package harness

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"

	"golang.org/x/sys/unix"
)

// Env is env.json: what a run ran on.
type Env struct {
	Lab         string   `json:"lab"`
	LabID       string   `json:"lab_id"` // in the names and labels of its containers and networks
	Image       string   `json:"image"`
	ZooKeeper   string   `json:"zookeeper"`
	JavaOptions []string `json:"java_options"` // of each server
	// Lock is what a recipe that is not ours consists of; empty for ours.
	Lock      string `json:"lock,omitempty"`
	Kernel    string `json:"kernel"`
	CPUs      int    `json:"cpus"`
	MemoryKiB int64  `json:"memory_kib"`
	Go        string `json:"go"`
	Locklab   string `json:"locklab"` // revision of the binary, if it was built from one
	// ClientBinary is what the client processes ran, if that was another binary.
	ClientBinary string `json:"client_binary,omitempty"`
	// EnsembleReadyNs is how long the ensemble took from the servers' start to a
	// leader, its followers and a committed write through each.
	EnsembleReadyNs int64 `json:"ensemble_ready_ns"`
	// StartedUnixNs is the wall clock at the run's base.
	StartedUnixNs int64 `json:"started_unix_ns"`
	// SessionTimeoutNs is what the servers grant for the session timeout asked for.
	SessionTimeoutNs int64 `json:"session_timeout_ns"`

	_ struct{}
}

func newEnv() Env {
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

func revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return ""
}

func readEnv(dir string) (Env, error) {
	var e Env
	b, err := os.ReadFile(filepath.Join(dir, envFile))
	if err != nil {
		return e, err
	}
	if err := json.Unmarshal(b, &e); err != nil {
		return e, fmt.Errorf("read %s: %w", envFile, err)
	}
	return e, nil
}
