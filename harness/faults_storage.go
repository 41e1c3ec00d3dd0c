package harness

import (
	"locklab/chaos"
	"locklab/ensembles"
	"locklab/harness/scenario"
)

// storageFaults make the faults that do harm to disks and clocks.
var storageFaults = map[string]constructor{
	scenario.FaultSlowDisk: onEach(func(r *run, s strike, h *ensembles.Host) (chaos.Fault, error) {
		return chaos.SlowDisk{ID: s.id, Host: h, Ensemble: r.stage.ensemble}, nil
	}),
	scenario.FaultClockStep: onEach(func(r *run, s strike, h *ensembles.Host) (chaos.Fault, error) {
		return chaos.ClockStep{Host: h, By: s.By, Ensemble: r.stage.ensemble}, nil
	}),
}
