package client

import (
	"fmt"

	"locklab/ensembles/txnlog/nodes"
	"locklab/harness/history"
	"locklab/workloads/lock"
)

// recordLayout records the layout of znodes that the lock's command has declared in its greeting, if it has.
func (p *process) recordLayout() error {
	if p.foreign == nil || p.foreign.Layout() == "" {
		return nil
	}
	declared := p.foreign.Layout()
	if err := fitsLayout(declared, p.cfg); err != nil {
		return err
	}
	return p.rec.Record(history.LayoutDeclared(string(declared)))
}

// fitsLayout returns an error if the layout that a command has declared is not what the scenario says.
func fitsLayout(declared nodes.Layout, cfg config) error {
	switch {
	case declared == "":
	case cfg.Layout != "" && cfg.Layout != declared:
		return fmt.Errorf("the lock's command greets with layout %s, but the scenario says layout %s; leave one of them out",
			declared, cfg.Layout)
	case !lock.Fits(declared, cfg.Workload):
		return fmt.Errorf("the lock's command greets with layout %s, but workload %s has permits; declare layout semaphore, "+
			"or none", declared, cfg.Workload)
	}
	return nil
}
