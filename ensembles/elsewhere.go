package ensembles

import (
	"fmt"

	"locklab/ensembles/agent"
	"locklab/ensembles/reach"
)

// ElsewhereName is what run directories call a lab that has no servers of its own, whatever its kind.
const ElsewhereName = "connect"

// An Elsewhere is an ensemble that is already there, and of which the kinds that can do that make labs without servers.
// The i-th host of the role server runs no server, but speaks for that ensemble's i-th.
type Elsewhere struct {
	Ensemble *reach.Ensemble // the way to it
	// Path is the path of the lab's runs in that ensemble. The agents touch nothing outside it.
	Path string
}

// Check refuses hosts that would speak for more servers than there are.
func (e *Elsewhere) Check(hosts []HostSpec) error {
	if n := serversOf(hosts); n > len(e.Ensemble.Servers) {
		return fmt.Errorf("the lab has %d servers, and the ensemble %d", n, len(e.Ensemble.Servers))
	}
	return nil
}

// Of returns what the agent of the i-th host has to know; nil if e is nil.
func (e *Elsewhere) Of(hosts []HostSpec, i int) *agent.Elsewhere {
	if e == nil {
		return nil
	}
	a := &agent.Elsewhere{Ensemble: *e.Ensemble, Path: e.Path}
	if hosts[i].Role == Server {
		a.Server = e.Ensemble.Servers[serversOf(hosts[:i])]
	}
	return a
}

func serversOf(hosts []HostSpec) (n int) {
	for _, h := range hosts {
		if h.Role == Server {
			n++
		}
	}
	return n
}
