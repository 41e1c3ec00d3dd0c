package run

import (
	"context"
	"errors"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/harness/history"
	"locklab/harness/rundir"
)

const (
	// followEvery is how often the clock of a host is read that has another clock than the harness. In between, it may
	// drift by 125 µs, see [history.Clocks].
	followEvery = 250 * time.Millisecond
	// readClockCap bounds one reading. A reading that takes long says little.
	readClockCap = time.Second
)

// readClocks reads the clock of every host, before anything is asked of it that has a time. Hosts that have the
// harness's clock, as all hosts on one machine do, are not asked again. The clocks of the others are followed until the
// streams end, because they drift.
func (r *run) readClocks(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyCap)
	defer cancel()
	var g errgroup.Group
	for _, h := range r.stage.lab.Hosts(ensembles.Server, ensembles.Client, ensembles.Resource) {
		g.Go(func() error {
			same, err := r.readClock(ctx, h)
			if err == nil && !same {
				r.following.Go(func() { r.followClock(h) })
			}
			return err
		})
	}
	return g.Wait()
}

// readClock records a reading of a host's clock, and reports whether that is the harness's. Of a server with another
// one it records the wall clock too, because the servers' logs have its times.
func (r *run) readClock(ctx context.Context, h *ensembles.Host) (same bool, err error) {
	reading, wall, err := h.Agent.ReadClock(ctx)
	if err != nil {
		return false, err
	}
	err = r.note(reading.Event())
	if h.Role == ensembles.Server && !reading.Same && !r.stage.ensemble.External {
		err = errors.Join(err, r.note(wall.Event(reading.Asked)))
	}
	return reading.Same, err
}

// followClock reads the clock of a host until the streams end, and once more then. A reading that fails is left out.
// The longer there is none, the less is known of the clock, and the record shows it.
func (r *run) followClock(h *ensembles.Host) {
	read := func() {
		once, cancel := context.WithTimeout(context.WithoutCancel(r.streams), readClockCap)
		defer cancel()
		_, _ = r.readClock(once, h)
	}
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			read()
		case <-r.streams.Done():
			read()
			return
		}
	}
}

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
