package harness

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"time"

	"locklab/chaos"
	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/harness/history"
	"locklab/harness/scenario"
)

// Options are what a run needs besides its scenario.
type Options struct {
	// Binary is the static locklab binary for the hosts; empty = the running one.
	Binary string
	// OtherClients is a static locklab binary that client processes can be run from instead;
	// see [Stage.RunOther]. Empty = there is none.
	OtherClients string
	Log          *slog.Logger
	// Lacking has the reason for each capability that this machine is known to lack: a
	// scenario with faults that need one is refused before anything starts.
	Lacking map[string]string
	// Progress takes the state of a run every ProgressEvery; nil = nobody. It is called by
	// one goroutine and may keep nothing of what it is given.
	Progress func(Progress)
	// ProgressEvery is how often; 0 = once a second.
	ProgressEvery time.Duration

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
	foreign  []*foreignLock     // by client process: what its host was equipped for, or nil
	made     *scenario.Scenario // the one that the stage was made for
	plan     stagePlan
	other    string // what Options.OtherClients is, for env.json
	runs     int
}

// observerHost is the name of the observer's host.
const observerHost = "o1"

// resourceHost is the name of the resource's host.
const resourceHost = "r1"

// ErrUnsupportedLab says that a kind of lab cannot be had here.
var ErrUnsupportedLab = errors.New("this kind of lab is not supported yet")

// supportedLab refuses kinds of labs that cannot be had.
func supportedLab(sc *scenario.Scenario) error {
	if sc.Lab != scenario.LabAuto && sc.Lab != scenario.LabDocker {
		return fmt.Errorf("%w: %s (use docker)", ErrUnsupportedLab, sc.Lab)
	}
	return nil
}

// OpenStage makes the lab that the scenario asks for and starts its ensemble. An
// error leaves nothing behind; if ctx ended, it is its cause.
func OpenStage(ctx context.Context, sc *scenario.Scenario, opts Options) (*Stage, error) {
	if opts.Progress != nil { // it takes seconds, on a busy machine many
		opts.Progress(Progress{Scenario: sc.Name, Clients: sc.Clients, Locks: sc.Locks, Phase: history.PhaseEnsemble})
	}
	s, err := openStage(ctx, sc, opts)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx) // what broke because of that is no news
	}
	return s, err
}

func openStage(ctx context.Context, sc *scenario.Scenario, opts Options) (*Stage, error) {
	if err := supportedLab(sc); err != nil {
		return nil, err
	}
	if err := unsupported(sc, opts.Lacking); err != nil {
		return nil, err
	}
	if opts.Binary == "" {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		opts.Binary = self
	}
	s := &Stage{opts: opts, clock: history.NewClock(), env: newEnv(), made: sc.Clone()}
	var err error
	if s.foreign, err = findForeign(ctx, sc, opts.Binary); err != nil {
		return nil, err
	}
	s.env.Lock = foreignVersion(s.foreign)
	if opts.OtherClients != "" {
		if s.other, err = describeBinary(opts.OtherClients); err != nil {
			return nil, err
		}
	}
	s.plan = planOf(sc, s.foreign, opts.Lacking)
	hosts := slices.Clone(s.plan.hosts)
	for i := range hosts {
		if opts.OtherClients != "" && hosts[i].Role == ensembles.Client {
			hosts[i].Files = append(slices.Clone(hosts[i].Files), ensembles.File{Source: opts.OtherClients, Target: otherClients, Executable: true})
		}
	}
	s.lab, err = ensembles.StartDocker(ctx, ensembles.DockerConfig{Hosts: hosts, Binary: opts.Binary, Log: opts.Log})
	if err != nil {
		return nil, fmt.Errorf("start lab: %w", err)
	}
	if err := s.equip(ctx, sc); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// equip starts the ensemble. Where faults are drawn, or some are named that not every machine can do, it finds
// out which this lab can, and refuses what it cannot before anything is injected.
func (s *Stage) equip(ctx context.Context, sc *scenario.Scenario) error {
	if !sc.Drawn() && len(sc.Needs()) == 0 {
		return s.startEnsemble(ctx)
	}
	h := s.lab.Hosts(ensembles.Server)[0]
	lacks, err := h.Agent.Capabilities(ctx)
	if err != nil {
		return err
	}
	lacking := maps.Clone(s.opts.Lacking)
	if lacking == nil {
		lacking = map[string]string{}
	}
	for name, why := range lacks {
		if why != "" {
			lacking[name] = why
		}
	}
	s.opts.Lacking = lacking
	if err := unsupported(sc, lacking); err != nil {
		return err
	}
	s.plan = planOf(sc, s.foreign, lacking)
	if err := s.startEnsemble(ctx); err != nil {
		return err
	}
	if !sc.Drawn() && !slices.Contains(sc.Needs(), agent.CapPtrace) {
		return nil
	}
	// Only a process that runs shows whether it can be held.
	const probe = "probe"
	if _, err := h.Agent.Stall(ctx, probe); err != nil {
		lacking[agent.CapPtrace] = err.Error()
		return unsupported(sc, lacking)
	}
	_, err = h.Agent.Unstall(ctx, probe)
	return err
}

// A stagePlan is what a scenario's lab consists of.
type stagePlan struct {
	hosts   []ensembles.HostSpec
	servers ensembles.ServerConfig
}

func planOf(sc *scenario.Scenario, locks []*foreignLock, lacking map[string]string) stagePlan {
	lo, hi := sc.SessionLimits()
	var prepared []ensembles.PreparedDir
	if sc.SequenceLeft > 0 {
		for i := range sc.Locks {
			prepared = append(prepared, ensembles.PreparedDir{Path: lockPath(1, i), Left: int32(sc.SequenceLeft)})
		}
	}
	return stagePlan{hosts: hostsOf(sc, locks), servers: ensembles.ServerConfig{Tick: sc.Tick, InitLimit: sc.InitLimit, SyncLimit: sc.SyncLimit,
		MinSessionTimeout: lo, MaxSessionTimeout: hi, HeapBytes: int64(sc.Heap), Prepared: prepared,
		Clock: stepsClocks(sc, lacking)}}
}

// Fits reports whether the scenario can be run on the stage instead of one of its own.
func (s *Stage) Fits(sc *scenario.Scenario) bool { return sharesLab(s.made, sc, s.opts.Lacking) }

func (s *Stage) startEnsemble(ctx context.Context) error {
	begun := time.Now()
	var err error
	s.ensemble, err = ensembles.StartEnsemble(ctx, s.lab, s.plan.servers)
	if errors.Is(err, agent.ErrUnsupported) {
		err = fmt.Errorf("%w: %w", chaos.ErrUnsupported, err)
	}
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
func hostsOf(sc *scenario.Scenario, locks []*foreignLock) []ensembles.HostSpec {
	var hosts []ensembles.HostSpec
	for i := range sc.Servers {
		hosts = append(hosts, ensembles.HostSpec{Name: fmt.Sprintf("zk%d", i+1), Role: ensembles.Server, Disk: sc.Storage == scenario.StorageDisk})
	}
	for i := range sc.ClientProcesses {
		h := ensembles.HostSpec{Name: fmt.Sprintf("c%d", i+1), Role: ensembles.Client}
		if lock := locks[i]; lock != nil {
			lock.equip(&h, sc.ClientImage)
		}
		hosts = append(hosts, h)
	}
	if sc.Observer {
		hosts = append(hosts, ensembles.HostSpec{Name: observerHost, Role: ensembles.Client})
	}
	return append(hosts, ensembles.HostSpec{Name: resourceHost, Role: ensembles.Resource})
}
