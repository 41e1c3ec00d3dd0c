package simulate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"locklab/chaos"
	"locklab/ensembles"
	"locklab/harness/history"
	"locklab/recipes/zktest/sim"
)

// An injector injects a fault into a host of a simulation.
type injector func(context.Context) (*chaos.Harm, error)

// Inject implements [chaos.Injector].
func (f injector) Inject(ctx context.Context) (*chaos.Harm, error) { return f(ctx) }

// injector returns what injects a fault into one host of a scene. What the kernel did needs no proof, so the faults are
// verified by what comes of them alone.
func (s *simulation) injector(x chaos.Strike) (chaos.Injector, error) {
	fine := func(context.Context) error { return nil }
	harm := chaos.Harm{Hosts: []string{x.Host}, Verify: fine, VerifyHealed: fine}
	server := s.serverNamed(x.Host)
	if server != nil {
		harm.VerifyHealed = s.awaitServers
	}
	var inject, heal func() error
	switch x.Kind {
	case kindPause:
		inject = func() error { return s.stand(x.Host, true) }
		heal = func() error { return s.stand(x.Host, false) }
	case kindKill:
		inject = func() error {
			s.servers.Kill(server)
			s.process(x.Host, history.ProcessExited)
			return nil
		}
		heal = func() error {
			s.servers.Start(server)
			s.process(x.Host, history.ProcessStarted)
			return nil
		}
	case kindPartition:
		var links [][2]*sim.Host
		inject = func() (err error) {
			if links, err = s.links(x); err == nil {
				for _, l := range links {
					s.servers.Cut(l[0], l[1])
				}
			}
			return err
		}
		heal = func() error {
			for _, l := range links {
				s.servers.Heal(l[0], l[1])
			}
			return nil
		}
	case kindReset:
		inject = func() error {
			for _, c := range s.of(x.Host) {
				s.servers.Reset(c.Host)
			}
			return nil
		}
	case kindExpire:
		inject = func() error {
			i := slices.IndexFunc(s.clients, func(c *client) bool { return c.Client.Name == x.Client })
			if i < 0 || s.clients[i].session == 0 || !s.servers.Expire(s.clients[i].session) {
				return fmt.Errorf("%w: %s has no session, or there is no leader", chaos.ErrNobody, x.Client)
			}
			harm.Sessions = []history.SessionID{history.SessionID(s.clients[i].session)}
			return nil
		}
	default:
		return nil, fmt.Errorf("%w: lab sim has no %s", chaos.ErrUnsupported, x.Kind)
	}
	if heal != nil {
		harm.Heal = func(context.Context) (at int64, err error) { return s.now(heal) }
	}
	return injector(func(ctx context.Context) (*chaos.Harm, error) {
		if x.Trigger != "" {
			if err := s.atPoint(ctx, x); err != nil {
				return nil, err
			}
		}
		at, err := s.now(func() error {
			switch {
			case x.Trigger == "":
				return inject()
			case x.Kind == kindPause:
				return nil // the process has stopped
			}
			return errors.Join(inject(), s.stand(x.Host, false))
		})
		if err != nil {
			return nil, err
		}
		harm.At = at
		return &harm, nil
	}), nil
}

// now has the kernel call f, and returns when that was, by the clock of the run.
func (s *simulation) now(f func() error) (at int64, err error) {
	s.scene.do(func() { at, err = s.rec.base+int64(s.w.Now()), f() })
	return at, err
}

// atPoint returns when a client of the process has stopped it at the point that the fault waits for.
func (s *simulation) atPoint(ctx context.Context, x chaos.Strike) error {
	s.scene.arm(x.ID, x.Host, x.Trigger)
	defer s.scene.disarm(x.ID)
	_, err := s.scene.view.Triggered(ctx, x.ID, x.Host)
	if err != nil {
		return fmt.Errorf("no client of %s reached %s: %w", x.Host, x.Trigger, err)
	}
	return nil
}

// stand stops a process or a server, or lets it go on. The kernel calls it.
func (s *simulation) stand(host string, still bool) error {
	if h := s.serverNamed(host); h != nil {
		set(h, still)
	}
	clients := s.of(host)
	for _, c := range clients {
		set(c.Host, still)
	}
	switch {
	case still:
		s.stood[host] = s.w.Now()
		s.process(host, history.ProcessStopped)
	default:
		s.process(host, history.ProcessContinued)
		if len(clients) > 0 { // as its process records it
			s.rec.at(s.w.Now(), host, history.HiccupOf(int64(s.w.Now()), s.w.Now()-s.stood[host]))
		}
	}
	return nil
}

func set(h *sim.Host, still bool) {
	if still {
		h.Pause()
	} else {
		h.Resume()
	}
}

// process records what became of the process of a host, as its agent does.
func (s *simulation) process(host string, state history.ProcessState) {
	s.rec.at(s.w.Now(), host, history.ProcessChange{State: state}.Event())
}

// serverNamed returns the server of that name; nil if there is none.
func (s *simulation) serverNamed(name string) *sim.Host {
	for _, h := range s.servers.Servers() {
		if h.Name == name {
			return h
		}
	}
	return nil
}

// links returns what a partition cuts: each pair of hosts, the sender first.
func (s *simulation) links(x chaos.Strike) (cut [][2]*sim.Host, err error) {
	keys := keysOf(x.Fault)
	var own, peers []*sim.Host
	for _, c := range s.clients {
		switch {
		case c.Host.Name == x.Host:
			own = append(own, c.Host)
		case keys["from"] == chaos.FromClients:
			peers = append(peers, c.Host)
		}
	}
	for _, h := range s.servers.Servers() {
		switch {
		case h.Name == x.Host:
			own = append(own, h)
		case keys["from"] == chaos.FromServers, keys["from"] == chaos.FromLeader && h == s.servers.Leader():
			if !slices.Contains(x.Hosts, h.Name) {
				peers = append(peers, h)
			}
		}
	}
	if len(peers) == 0 {
		return nil, fmt.Errorf("%w: %s has no links to %s now", chaos.ErrNobody, x.Host, keys["from"])
	}
	for _, a := range own {
		for _, b := range peers {
			if keys["way"] != "out" {
				cut = append(cut, [2]*sim.Host{b, a})
			}
			if keys["way"] != "in" {
				cut = append(cut, [2]*sim.Host{a, b})
			}
		}
	}
	return cut, nil
}

// keysOf returns the keys of a fault with their texts.
func keysOf(f chaos.Fault) map[string]string {
	all := map[string]string{}
	for _, k := range f.Keys() {
		all[k.Key] = k.Text
	}
	return all
}

// awaitServers waits until all servers serve.
func (s *simulation) awaitServers(ctx context.Context) error {
	return ensembles.Poll(ctx, 20*time.Millisecond, "the servers to serve", func() (err error) {
		s.scene.do(func() {
			if !s.servers.Serves() {
				err = errors.New("one does not")
			}
		})
		return err
	})
}

// leads returns the server that leads.
func (s *simulation) leads(hosts []*ensembles.Host) (leader *ensembles.Host, err error) {
	s.scene.do(func() {
		h := s.servers.Leader()
		if h == nil {
			err = errors.New("no server leads")
			return
		}
		leader = hosts[slices.IndexFunc(hosts, func(o *ensembles.Host) bool { return o.Name == h.Name })]
	})
	return leader, err
}
