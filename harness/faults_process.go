package harness

import (
	"locklab/chaos"
	"locklab/ensembles"
	"locklab/harness/scenario"
)

// processFaults make the faults that do harm to a process.
var processFaults = map[string]constructor{
	scenario.FaultPause: onEach(func(r *run, s strike, h *ensembles.Host) (chaos.Fault, error) {
		if s.Trigger != "" {
			return r.pauseAt(s.id, s.Trigger, h), nil
		}
		p := chaos.Pause{Host: h}
		if h.Role == ensembles.Server {
			p.Ensemble = r.stage.ensemble
		}
		return p, nil
	}),
	scenario.FaultKill: onEach(func(r *run, _ strike, h *ensembles.Host) (chaos.Fault, error) {
		return chaos.Kill{Process: r.process(h)}, nil
	}),
	scenario.FaultStop: onEach(func(r *run, _ strike, h *ensembles.Host) (chaos.Fault, error) {
		return chaos.Stop{Process: r.process(h)}, nil
	}),
	scenario.FaultRestart: onEach(func(r *run, _ strike, h *ensembles.Host) (chaos.Fault, error) {
		return chaos.Restart{Process: r.process(h)}, nil
	}),
	scenario.FaultCrashLoop: onEach(func(r *run, _ strike, h *ensembles.Host) (chaos.Fault, error) {
		return chaos.CrashLoop{Process: r.process(h)}, nil
	}),
	scenario.FaultRollingRestart: func(r *run, s strike) (chaos.Fault, error) {
		var all []chaos.Process
		for _, h := range s.hosts {
			all = append(all, r.process(h))
		}
		return r.slotted(s, chaos.RollingRestart{Processes: all}), nil
	},
}
