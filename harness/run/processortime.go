package run

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"locklab/ensembles/agent"
	"locklab/harness/history"
	"locklab/harness/rundir"
)

// processorTimesHere returns events that say how much of the processors the harness has used, and all of its machine.
func processorTimesHere(clock history.Clock) ([]history.Event, error) {
	own, err := agent.OwnProcessorTime()
	if err != nil {
		return nil, err
	}
	busy, err := machineBusy()
	if err != nil {
		return nil, err
	}
	now := clock.Now()
	harness := history.ProcessorTime{Host: rundir.HarnessHost, PID: os.Getpid(), Used: own}
	return []history.Event{harness.Event(now), history.ProcessorTime{Host: history.Machine, Used: busy}.Event(now)}, nil
}

// machineBusy returns for how long the processors of this machine were not idle since it started, or were not given to
// it by what it runs on.
func machineBusy() (time.Duration, error) {
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
	return time.Duration(ticks) * agent.ProcessorTick, nil
}
