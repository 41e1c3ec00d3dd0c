package chaos

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"locklab/ensembles"
	"locklab/harness/check/evidence"
	"locklab/harness/settings"
)

func upgradeKind() Kind {
	return Kind{
		Name: "upgrade", Family: FamilyProcess, Targets: OnAll,
		Momentary: true, Slot: slotProcess, Room: 20 * time.Second, Stays: true,
		NotDrawn: true, // a schedule has no version to draw
		Nature:   evidence.FaultNature{Cause: causeKill, HampersLeader: true, Lingers: true},
		Does: "replaces the ZooKeeper of every server by the version `to`, one server after the other and the leader " +
			"last; each server stops in an orderly way and has rejoined the ensemble before the next one stops. Healing " +
			"does not go back, and an upgrade that has begun is completed",
		Verified: "the first server reports a different version than before; after that, the ensemble is whole and " +
			"commits writes through each server, and all servers report that version",
		Examples: []string{"target: all, to: " + ensembles.DefaultVersion},
		Params:   upgradeParams{},
		check:    checkUpgrade,
		injector: func(r *Run, i injection) (Injector, error) {
			return r.slotted(i, upgrade{run: r, hosts: i.hosts, to: i.Version()}), nil
		},
	}
}

// upgradeParams are the keys that only an upgrade has.
type upgradeParams struct {
	To version `key:"to" help:"the version that servers get: a number, an image, a directory, or default" required:"true"`
}

// A version is the name of a version of ZooKeeper.
type version string

// MarshalText implements [encoding.TextMarshaler].
func (v version) MarshalText() ([]byte, error) { return []byte(v), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (v *version) UnmarshalText(text []byte) error {
	if err := ensembles.CheckVersion(string(text)); err != nil {
		return settings.Errorf("an image such as zookeeper:3.9, or a directory such as /opt/zookeeper", "%v", err)
	}
	*v = version(text)
	return nil
}

// Schema implements [settings.Schemer].
func (version) Schema() settings.Schema {
	return settings.TextSchema(`^` + ensembles.VersionPattern + `$`)
}

// Version returns the version that an upgrade brings; empty for faults of other kinds.
func (f Fault) Version() string { return string(params[upgradeParams](f).To) }

// checkUpgrade refuses the upgrade of a single server, one that would end after the run, and one that repeats.
func checkUpgrade(c *checker, f Fault) {
	if f.Every != 0 || f.Repeat > 1 {
		c.refuse(at("every", "repeat"), "another upgrade, to another version", "an upgrade changes nothing the second time")
	}
	if c.Servers == 1 {
		c.refuse(at("kind").and("servers"), "servers: 3 or 5", "a single server is not upgraded one after the other")
		return
	}
	if least := f.At + time.Duration(c.Servers)*rollPerServer; c.Duration > 0 && least > c.Duration {
		c.refuse(at("at").and("duration"), "duration: "+roundUp(least)+" or more",
			"the upgrade of %d servers one after the other takes %s at least", c.Servers, least-f.At)
	}
}

// upgrade restarts the servers with another version, in the order of ZooKeeper's own instructions: the followers, then
// the leader.
type upgrade struct {
	run   *Run
	hosts []*ensembles.Host
	to    string
}

// Inject replaces the first server, and waits until it tells its version, even if ctx ends, because an upgrade that has
// begun is completed. The others follow as in a rolling restart.
func (u upgrade) Inject(ctx context.Context) (*Harm, error) {
	e := u.run.Ensemble
	var left []Process
	before := map[string]string{} // by host
	for _, h := range u.hosts {
		if e.Runs(h) == u.to {
			continue
		}
		p := u.run.Process(h)
		p.Restart = func(ctx context.Context) (int64, error) {
			st, err := e.Upgrade(ctx, h, u.to)
			return st.At, err
		}
		left = append(left, p)
		var err error
		if before[h.Name], err = e.Told(ctx, h); err != nil {
			return nil, err
		}
	}
	if len(left) == 0 {
		return nil, fmt.Errorf("%w: every server runs %s already", ErrNobody, u.to)
	}
	i := u.leaderLast(ctx, left)
	first := left[i]
	all := append([]Process{first}, slices.Delete(left, i, i+1)...)
	h, err := rollingRestart{all: all, next: u.leaderLast, whole: true}.Inject(ctx)
	if err != nil {
		return h, err
	}
	told, cancel := context.WithTimeout(context.WithoutCancel(ctx), healedCap)
	defer cancel()
	now, err := e.AwaitTold(told, first.Host)
	if err != nil {
		return h, err
	}
	h.Versions = before[first.Host.Name] + " → " + now
	h.Verify = func(ctx context.Context) error {
		now, err := e.Told(ctx, first.Host)
		for host, told := range before {
			if err == nil && told == now {
				err = fmt.Errorf("%s tells %q with %s, and %s told the same before", first.Host.Name, now, u.to, host)
			}
		}
		return err
	}
	back := h.VerifyHealed
	h.VerifyHealed = func(ctx context.Context) error {
		if err := back(ctx); err != nil {
			return err
		}
		return u.all(ctx, now)
	}
	return h, nil
}

// leaderLast returns the first of the processes that does not lead, or 0 if there is none.
func (u upgrade) leaderLast(ctx context.Context, left []Process) int {
	roles, err := u.run.Ensemble.Roles(ctx)
	if err != nil {
		return 0
	}
	return max(0, slices.IndexFunc(left, func(p Process) bool {
		role := roles[p.Host.Name]
		return role != "" && role != ensembles.RoleLeader
	}))
}

// all reports which servers do not tell the version.
func (u upgrade) all(ctx context.Context, version string) error {
	var others []string
	for _, h := range u.run.Ensemble.Servers {
		told, err := u.run.Ensemble.Told(ctx, h)
		if err != nil {
			return err
		}
		if told != version {
			others = append(others, fmt.Sprintf("%s tells %q", h.Name, told))
		}
	}
	if others != nil {
		return fmt.Errorf("not every server tells %q: %s", version, strings.Join(others, ", "))
	}
	return nil
}
