package serve

import (
	"fmt"
	"maps"
	"net/netip"
	"sync"

	"locklab/ensembles/agent"
	"locklab/harness/history"
)

// A ruleset keeps a host's network rules of one kind, by their ids.
type ruleset[R any] struct {
	rec *history.Recorder
	// apply puts exactly the next rules in force, of which one has changed. mu is held.
	apply func(next map[string]R, changed string) error

	mu     sync.Mutex
	rules  map[string]R // in force; a change replaces the whole map
	ending bool
}

// add puts a rule in force, or replaces the one with the same id. The history describes it by what.
func (s *ruleset[R]) add(id string, rule R, state history.NetworkState, what string) (agent.Stamp, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending {
		return agent.Stamp{}, errEnding
	}
	next := map[string]R{}
	maps.Copy(next, s.rules)
	next[id] = rule
	return s.replace(next, state, id, what)
}

// has reports whether there is a rule with that id, or any rule if the id is empty.
func (s *ruleset[R]) has(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.rules[id]
	return ok || id == "" && len(s.rules) > 0
}

// clear removes a rule, or all rules if the id is empty. An unknown id is not an error.
func (s *ruleset[R]) clear(id string) (agent.Stamp, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := maps.Clone(s.rules)
	delete(next, id)
	if id == "" {
		next = nil
	}
	return s.replace(next, history.NetworkCleared, id, "")
}

// end clears all rules and prevents new ones. An agent that may not change rules, and so has none, can end as well.
func (s *ruleset[R]) end() error {
	s.mu.Lock()
	s.ending = true
	s.mu.Unlock()
	if !s.has("") {
		return nil
	}
	_, err := s.clear("")
	return err
}

// replace puts exactly the next rules in force, and records the one that has changed. mu is held.
func (s *ruleset[R]) replace(next map[string]R, state history.NetworkState, id, what string) (agent.Stamp, error) {
	if err := s.apply(next, id); err != nil {
		return agent.Stamp{}, err
	}
	s.rules = next
	at := s.rec.Clock().Now()
	change := history.NetworkChange{State: state, Rule: id, Peers: what}.Event()
	change.At = at
	if err := s.rec.Record(change); err != nil {
		return agent.Stamp{}, err
	}
	return agent.Stamp{At: at}, nil
}

// errShared is the refusal to change the network of the machine.
var errShared = fmt.Errorf("%w: %s", agent.ErrUnsupported, agent.SharedNetwork()[agent.CapNetAdmin])

// shareNetwork makes the agent refuse everything that would change the network of the machine. Relays still delay what
// passes through them.
func (a *server) shareNetwork() {
	a.firewall.apply = func(next map[string]agent.Block, _ string) error {
		if len(next) > 0 {
			return errShared
		}
		return nil
	}
	a.delays.netem = func(_, next map[netip.Addr]agent.Delay) error {
		if len(next) > 0 {
			return errShared
		}
		return nil
	}
}

// reset ends the host's connections with the peers.
func (a *server) reset(peers []netip.Addr) (agent.Connections, error) {
	if a.cfg.Surroundings != nil {
		return agent.Connections{}, errShared
	}
	return reset(a.rec, peers)
}
