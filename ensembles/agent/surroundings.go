package agent

import (
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"locklab/ensembles/reach"
)

// EnvSurroundings is set for an agent that reads its [Surroundings] from its standard input. Such an agent lives as
// long as that input is open.
const EnvSurroundings = "LOCKLAB_SURROUNDINGS"

// EnvCredential is the variable in which a process finds the digest credential for the ensemble, if it needs one.
const EnvCredential = "LOCKLAB_CREDENTIAL"

// EnvTLS is the variable in which a process finds what its connections to the ensemble need for TLS, as JSON of
// [reach.TLS]; it is not set for an ensemble without TLS.
const EnvTLS = "LOCKLAB_TLS"

// Surroundings describe a host that is a mere process of this machine: it shares the network and the files of the
// machine.
type Surroundings struct {
	// Dir is what the host has instead of DataDir. The agent removes it when it ends.
	Dir string `json:"dir"`
	// Address is the host's address on the loopback network.
	Address netip.Addr `json:"address"`
	// Elsewhere is nil if the lab has servers of its own.
	Elsewhere *Elsewhere `json:"elsewhere,omitempty"`
}

// EnvElsewhere has the [Elsewhere], as JSON, of an agent that has no [Surroundings]; empty if the lab has servers of
// its own.
const EnvElsewhere = "LOCKLAB_ELSEWHERE"

// An Elsewhere is what an agent knows of an ensemble that the lab uses and did not start. It has secrets.
type Elsewhere struct {
	// Ensemble is the way to the ensemble, and Path the one path in it that the lab uses.
	Ensemble reach.Ensemble `json:"ensemble"`
	Path     string         `json:"path"`
	// Server is the server of the ensemble that the agent speaks for; empty if the host is not a server's.
	Server string `json:"server,omitempty"`
}

// ProcessorTick is the unit in which Linux tells programs of processor time, on each architecture that locklab runs on.
const ProcessorTick = time.Second / 100

// OwnProcessorTime returns how much of the processors this process has used, without its children.
func OwnProcessorTime() (time.Duration, error) {
	var own syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &own)
	return time.Duration(own.Utime.Nano() + own.Stime.Nano()), err
}

// MachineBusy returns for how long the processors of this machine were not idle since it started, or were not given to
// it by what it runs on.
func MachineBusy() (time.Duration, error) {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	// cpu user nice system idle iowait irq softirq steal
	line, _, _ := strings.Cut(string(b), "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return 0, fmt.Errorf("/proc/stat begins with %q", line)
	}
	const idle, iowait = 4, 5
	var ticks int64
	for i, field := range fields[1:9] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("/proc/stat: %w", err)
		}
		if i+1 != idle && i+1 != iowait {
			ticks += n
		}
	}
	return time.Duration(ticks) * ProcessorTick, nil
}
