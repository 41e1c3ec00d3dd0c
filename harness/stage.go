package harness

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"locklab/ensembles"
	"locklab/harness/history"
	"locklab/harness/scenario"
)

// Options are what a run needs besides its scenario.
type Options struct {
	// Binary is the static locklab binary for the hosts; empty = the running one.
	Binary string
	Log    *slog.Logger
	// Progress takes the state of a run about once a second; nil = nobody.
	Progress func(Progress)

	_ struct{}
}

// A Stage is a lab with a ready ensemble. Runs on it follow one another, each on
// lock paths of its own.
type Stage struct {
	opts     Options
	lab      *ensembles.Lab
	ensemble *ensembles.Ensemble
	env      Env
	clock    history.Clock
	foreign  *foreignLock // what the clients' hosts were equipped for
	runs     int
}

// observerHost is the name of the observer's host.
const observerHost = "o1"

// resourceHost is the name of the resource's host.
const resourceHost = "r1"

// ErrUnsupportedLab says that a kind of lab cannot be had here.
var ErrUnsupportedLab = errors.New("this kind of lab is not supported yet")

// OpenStage makes the lab that the scenario asks for and starts its ensemble. An
// error leaves nothing behind; if ctx ended, it is its cause.
func OpenStage(ctx context.Context, sc *scenario.Scenario, opts Options) (*Stage, error) {
	s, err := openStage(ctx, sc, opts)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx) // what broke because of that is no news
	}
	return s, err
}

func openStage(ctx context.Context, sc *scenario.Scenario, opts Options) (*Stage, error) {
	if sc.Lab != scenario.LabAuto && sc.Lab != scenario.LabDocker {
		return nil, fmt.Errorf("%w: %s (use docker)", ErrUnsupportedLab, sc.Lab)
	}
	if opts.Binary == "" {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		opts.Binary = self
	}
	s := &Stage{opts: opts, clock: history.NewClock(), env: newEnv()}
	var err error
	if s.foreign, err = findForeign(ctx, sc, opts.Binary); err != nil {
		return nil, err
	}
	if s.foreign != nil {
		s.env.Lock = s.foreign.version
	}
	s.lab, err = ensembles.StartDocker(ctx, ensembles.DockerConfig{Hosts: hostsOf(sc, s.foreign), Binary: opts.Binary, Log: opts.Log})
	if err != nil {
		return nil, fmt.Errorf("start lab: %w", err)
	}
	if err := s.startEnsemble(ctx, sc); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Stage) startEnsemble(ctx context.Context, sc *scenario.Scenario) error {
	begun := time.Now()
	lo, hi := sc.SessionLimits()
	var err error
	s.ensemble, err = ensembles.StartEnsemble(ctx, s.lab, ensembles.ServerConfig{Tick: sc.Tick, InitLimit: sc.InitLimit, SyncLimit: sc.SyncLimit,
		MinSessionTimeout: lo, MaxSessionTimeout: hi, HeapBytes: int64(sc.Heap)})
	if err != nil {
		return err
	}
	s.env.JavaOptions = s.ensemble.Config.JavaOptions()
	s.env.Lab, s.env.LabID, s.env.Image, s.env.EnsembleReadyNs = s.lab.Kind, s.lab.ID, s.lab.Image, int64(time.Since(begun))
	if s.env.ZooKeeper, err = s.ensemble.Version(ctx); err != nil {
		return err
	}
	return nil
}

// closeCap bounds taking a lab down. Its agents' leases do it otherwise.
const closeCap = time.Minute

// Close takes the lab down, whatever became of the context it was made with.
func (s *Stage) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeCap)
	defer cancel()
	return s.lab.Close(ctx)
}

// hostsOf lists the hosts that a scenario needs.
func hostsOf(sc *scenario.Scenario, lock *foreignLock) []ensembles.HostSpec {
	var hosts []ensembles.HostSpec
	for i := range sc.Servers {
		hosts = append(hosts, ensembles.HostSpec{Name: fmt.Sprintf("zk%d", i+1), Role: ensembles.Server, Disk: sc.Storage == scenario.StorageDisk})
	}
	for i := range sc.ClientProcesses {
		h := ensembles.HostSpec{Name: fmt.Sprintf("c%d", i+1), Role: ensembles.Client}
		if lock != nil {
			lock.equip(&h, sc.ClientImage)
		}
		hosts = append(hosts, h)
	}
	if sc.Observer {
		hosts = append(hosts, ensembles.HostSpec{Name: observerHost, Role: ensembles.Client})
	}
	return append(hosts, ensembles.HostSpec{Name: resourceHost, Role: ensembles.Resource})
}
