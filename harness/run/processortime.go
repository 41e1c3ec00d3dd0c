package run

import (
	"os"

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
	busy, err := agent.MachineBusy()
	if err != nil {
		return nil, err
	}
	now := clock.Now()
	harness := history.ProcessorTime{Host: rundir.HarnessHost, PID: os.Getpid(), Used: own}
	return []history.Event{harness.Event(now), history.ProcessorTime{Host: history.Machine, Used: busy}.Event(now)}, nil
}
