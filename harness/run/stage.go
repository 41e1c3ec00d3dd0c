package run

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"locklab/chaos"
	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/ensembles/labs"
	"locklab/ensembles/remote"
	"locklab/harness/history"
	"locklab/harness/rundir"
	"locklab/harness/scenario"
	"locklab/harness/watch"
)

// Options are what a run needs besides its scenario.
type Options struct {
	// Binary is the static locklab binary for the hosts; empty = the running one.
	Binary string
	// OtherClients is another static locklab binary, which [Stage.RunOther] uses for client processes; empty = none.
	OtherClients string
	// Beside is a scenario whose lock is another command of this machine. Client hosts get it too, so that the scenario
	// can be run in the same lab; nil = none.
	Beside *scenario.Scenario
	Log    *slog.Logger
	// Lacking has the reason for each capability that this machine is known to lack. A scenario with faults that need
	// one of them is refused before anything starts.
	Lacking map[string]string
	// Progress is called with the state of a run every ProgressEvery, by one goroutine; nil = it is not called. It must
	// not keep what it is given.
	Progress func(watch.Progress)
	// ProgressEvery is the time between two calls of Progress; 0 = 1 s.
	ProgressEvery time.Duration

	_ struct{}
}

// A Stage is a lab with a ready ensemble. Runs on it follow one another, each with lock paths of its own.
type Stage struct {
	opts     Options
	lab      *ensembles.Lab
	ensemble *ensembles.Ensemble
	env      rundir.Env
	clock    history.Clock
	foreign  equipment
	madeFor  *scenario.Scenario
	spec     labSpec
	outside  *outside // nil if the lab has servers of its own
	other    string   // describes Options.OtherClients for env.json
	runs     int      // that have begun
	unfit    bool     // its ensemble does not serve
}

// OpenStage makes the lab that the scenario asks for and starts its ensemble. If it fails, nothing of the lab is left.
// If ctx ended, the error is its cause.
func OpenStage(ctx context.Context, sc *scenario.Scenario, opts Options) (*Stage, error) {
	s, err := openStage(ctx, sc, opts)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx) // errors that follow from it say nothing new
	}
	return s, err
}

func openStage(ctx context.Context, sc *scenario.Scenario, opts Options) (*Stage, error) {
	if err := refuseSim(sc); err != nil {
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
	s := &Stage{opts: opts, clock: history.NewClock(), env: rundir.NewEnv(), madeFor: sc.Clone()}
	var err error
	if s.foreign, err = equipmentFor(ctx, opts.Binary, sc, opts.Beside); err != nil {
		return nil, err
	}
	if opts.OtherClients != "" {
		if s.other, err = describeBinary(opts.OtherClients); err != nil {
			return nil, err
		}
	}
	s.spec = labSpecOf(sc, s.foreign, opts.Lacking)
	hosts := slices.Clone(s.spec.hosts)
	for i := range hosts {
		if opts.OtherClients != "" && hosts[i].Role == ensembles.Client {
			hosts[i].Files = append(slices.Clone(hosts[i].Files),
				ensembles.File{Source: opts.OtherClients, Target: otherClients, Executable: true})
		}
	}
	cfg := ensembles.LabConfig{Hosts: hosts, Binary: opts.Binary, Log: opts.Log, Opened: func() {
		if opts.Progress != nil { // starting takes seconds, and many on a busy machine
			opts.Progress(watch.Progress{Scenario: sc.Name, Clients: sc.Clients, Locks: sc.Locks,
				External: sc.Connect != "", Phase: history.PhaseEnsemble})
		}
	}}
	equip := s.equip
	if sc.Connect == "" {
		s.lab, err = labs.Start(ctx, sc.Lab, cfg)
	} else if s.outside, err = lookOutside(ctx, sc); err == nil {
		s.lab, err = s.outside.start(ctx, sc.Lab, cfg)
		equip = func(ctx context.Context, _ *scenario.Scenario) error { return s.join(ctx) }
	}
	if v, ok := errors.AsType[*ensembles.VersionError](err); ok {
		if err = sc.RefuseVersion(v); v.Absent {
			err = fmt.Errorf("%w: %s", chaos.ErrUnsupported, err.Error())
		}
		return nil, err
	}
	switch {
	case errors.Is(err, remote.ErrUnusable), errors.Is(err, chaos.ErrUnsupported):
		return nil, err // it says what is wrong in one line
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		return nil, fmt.Errorf("%w: %w", ensembles.ErrTooSlow, err)
	case err != nil:
		return nil, fmt.Errorf("start lab: %w", err)
	}
	if err := equip(ctx, sc); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// equip starts the ensemble. If the scenario draws faults or names some that not every machine supports, equip finds
// out which ones the lab supports and refuses the others before anything is injected.
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
	s.spec = labSpecOf(sc, s.foreign, lacking)
	if err := s.startEnsemble(ctx); err != nil {
		return err
	}
	if !sc.Drawn() && !slices.Contains(sc.Needs(), agent.CapPtrace) {
		return nil
	}
	// Whether a disk can be stalled shows only on a process that runs.
	const probe = "probe"
	if _, err := h.Agent.Stall(ctx, probe); err != nil {
		lacking[agent.CapPtrace] = err.Error()
		return unsupported(sc, lacking)
	}
	_, err = h.Agent.Unstall(ctx, probe)
	return err
}

// A labSpec is what the lab of a scenario consists of.
type labSpec struct {
	hosts   []ensembles.HostSpec
	servers ensembles.ServerConfig
}

func labSpecOf(sc *scenario.Scenario, locks equipment, lacking map[string]string) labSpec {
	lo, hi := sc.SessionLimits()
	return labSpec{hosts: hostsOf(sc, locks), servers: ensembles.ServerConfig{
		Tick: sc.Tick, SyncLimit: sc.SyncLimit,
		MinSessionTimeout: lo, MaxSessionTimeout: hi, JVM: sc.JVM, HeapBytes: int64(sc.Heap),
		Clock: stepsClocks(sc, lacking)}}
}

// Fits reports whether the scenario can be run on the stage as well as on one of its own.
func (s *Stage) Fits(sc *scenario.Scenario) bool {
	if s.unfit {
		return false
	}
	beside := s.opts.Beside
	return sharesLab(s.madeFor, sc, s.opts.Lacking) || beside != nil && sharesLab(beside, sc, s.opts.Lacking)
}

// WarmUp says how the servers were warmed up; nil if they were not.
func (s *Stage) WarmUp() *rundir.WarmUp { return s.env.WarmUp }

// SetWarmUp has the environment of the runs that follow say how the servers were warmed up.
func (s *Stage) SetWarmUp(w rundir.WarmUp) { s.env.WarmUp = &w }

func (s *Stage) startEnsemble(ctx context.Context) error {
	begun := time.Now()
	var err error
	s.ensemble, err = ensembles.StartEnsemble(ctx, s.lab, s.spec.servers)
	if err != nil {
		return err
	}
	s.env.JavaOptions = s.ensemble.Config.JavaOptions()
	s.env.EnsembleReadyNs = int64(time.Since(begun))
	s.env.Lab, s.env.LabID, s.env.Image = s.lab.Kind, s.lab.ID, s.lab.Image
	s.ensemble.Metrics(ctx) // a server's first answer takes it long, and should not fall into the first run
	return s.describeVersions(ctx)
}

// describeVersions records which version of ZooKeeper each server runs.
func (s *Stage) describeVersions(ctx context.Context) error {
	s.env.ZooKeepers = map[string]string{}
	var numbers []string
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for _, h := range s.ensemble.Servers {
		told, err := s.ensemble.AwaitTold(ctx, h) // a server that was ready a moment ago may be electing a leader again
		if err != nil {
			return err
		}
		s.env.ZooKeepers[h.Name] = told
		if n := ensembles.VersionNumber(told); !slices.Contains(numbers, n) {
			numbers = append(numbers, n)
		}
	}
	s.env.ZooKeeper = strings.Join(numbers, ", ")
	return nil
}

// CloseCap bounds the time that taking a lab down may take. After that, the lab goes when the leases of its agents end.
const CloseCap = time.Minute

// Close takes the lab down, even if the context that it was made with has ended.
func (s *Stage) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), CloseCap)
	defer cancel()
	err := s.lab.Close(ctx)
	if s.outside != nil {
		err = errors.Join(err, s.outside.path.Close(ctx))
	}
	return err
}

// hostsOf lists the hosts that a scenario needs.
func hostsOf(sc *scenario.Scenario, locks equipment) []ensembles.HostSpec {
	var hosts []ensembles.HostSpec
	for i := range sc.Servers {
		hosts = append(hosts, ensembles.HostSpec{Name: fmt.Sprintf("zk%d", i+1), Role: ensembles.Server,
			Disk: sc.Storage == scenario.StorageDisk, Versions: sc.VersionsOf(i)})
	}
	for i := range sc.ClientProcesses {
		h := ensembles.HostSpec{Name: fmt.Sprintf("c%d", i+1), Role: ensembles.Client}
		locks.equip(&h, i, sc.ClientImage)
		hosts = append(hosts, h)
	}
	if sc.Observer {
		hosts = append(hosts, ensembles.HostSpec{Name: rundir.ObserverHost, Role: ensembles.Client})
	}
	return append(hosts, ensembles.HostSpec{Name: rundir.ResourceHost, Role: ensembles.Resource})
}

// LabKeys are the keys of a scenario that are settings of its lab. The number of client processes is not among them,
// because a lab can have more hosts than a run uses.
var LabKeys = []string{"lab", "connect", "connect-ca", "connect-cert", "connect-key", "connect-auth", "servers",
	"zookeeper", "storage", "tick", "sync-limit", "min-session-timeout", "max-session-timeout",
	"jvm", "heap", "observer", "client-image"}

// LabSettings returns a text that is the same for scenarios that can be run in one lab. lacking has the capabilities
// that this machine is known to lack.
func LabSettings(sc *scenario.Scenario, lacking map[string]string) string {
	var all []string
	for _, key := range LabKeys {
		all = append(all, key+"="+sc.Text(key))
	}
	// Servers whose clocks can be set are started in another way, and a lab finds out as it opens what it cannot do.
	all = append(all, fmt.Sprint("needs=", sc.Needs(), sc.Drawn(), stepsClocks(sc, lacking)))
	for _, f := range sc.Faults {
		if v := f.Version(); v != "" {
			all = append(all, "to="+v)
		}
	}
	// Each client host of a recipe that is not built into locklab is equipped for that recipe.
	if sc.Foreign() {
		all = append(all, "recipe="+sc.Recipe, "client-processes="+strconv.Itoa(sc.ClientProcesses))
	}
	return strings.Join(all, "\n")
}

// stepsClocks reports whether a fault of the scenario steps the clock of a server.
func stepsClocks(sc *scenario.Scenario, lacking map[string]string) bool {
	return sc.Plan(lacking).StepsClock()
}

// sharesLab reports whether a scenario can be run in the lab that was made for another. A lab of its own would have the
// same servers and, apart from their number, the same client hosts. Scenarios that upgrade the servers do
// not share labs, because nothing brings the version before back.
func sharesLab(made, sc *scenario.Scenario, lacking map[string]string) bool {
	return !made.Upgrades() && !sc.Upgrades() &&
		sc.ClientProcesses <= made.ClientProcesses &&
		LabSettings(made, lacking) == LabSettings(sc, lacking)
}

// refuseSim refuses a scenario for a simulation, which has no lab.
func refuseSim(sc *scenario.Scenario) error {
	if sc.Lab != ensembles.LabSim {
		return nil
	}
	return sc.Refuse("lab", "lab sim is for single runs: this command needs real servers", "locklab run --lab sim")
}

// CheckFiles refuses a scenario that names a file or a directory of this machine which is not there, or not what it
// must be, or that needs no lab. Many runs are then not begun for nothing. What only a lab knows, such as its images,
// is not checked.
func CheckFiles(sc *scenario.Scenario) error {
	if err := refuseSim(sc); err != nil {
		return err
	}
	if sc.Command() != nil {
		own, err := os.Executable()
		if err != nil {
			return err
		}
		if _, err := findCommand(sc, filepath.Dir(own)); err != nil {
			return err
		}
	}
	if sc.Connect != "" {
		return nil
	}
	for i := range sc.Servers {
		for _, version := range sc.VersionsOf(i) {
			if !ensembles.IsDir(version) {
				continue
			}
			_, err := ensembles.Dir(version)
			if v, ok := errors.AsType[*ensembles.VersionError](err); ok {
				return sc.RefuseVersion(v)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}
