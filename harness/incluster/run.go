package incluster

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/ensembles/kubernetes"
	"locklab/harness/history"
	"locklab/harness/judge"
	"locklab/harness/rundir"
	"locklab/harness/scenario"
)

// Options are what a run needs besides its scenario.
type Options struct {
	// Binary is the static locklab binary whose image the cluster has; empty = the running one.
	Binary string
	Log    *slog.Logger
	// Progress gets what the harness in the cluster prints while the run lasts.
	Progress io.Writer

	_ struct{}
}

// Command is the hidden command of locklab that is the harness in the cluster. Its arguments are the file of the
// scenario and the run directory.
const Command = "harness"

// The paths on the host of the harness, below agent.DataDir.
const (
	workDir      = "harness"
	runDir       = "run"
	scenarioFile = "scenario.yaml"
)

const (
	// grace is how long an interrupted harness may take to collect its record and to take its lab down.
	grace = 2 * time.Minute
	// patience is how long the harness may not be heard of. It is longer than its lease: after that it has ended.
	patience = 2 * kubernetes.Lease
	// askEvery is how often the harness is asked for what it has printed.
	askEvery = 500 * time.Millisecond
)

// A Failure says that the harness in the cluster ended without a run directory.
type Failure struct {
	Code int // its exit code; 0 if it was killed
	How  string
}

func (f *Failure) Error() string {
	return fmt.Sprintf("the harness in the cluster ended (%s) before there was a record; its messages are above", f.How)
}

// Check refuses a scenario that a harness in the cluster cannot carry out.
func Check(sc *scenario.Scenario) error {
	if sc.Lab != ensembles.LabKubernetes {
		return sc.Refuse("lab", fmt.Sprintf("a harness in the cluster makes labs of kind %s, and not %s",
			ensembles.LabKubernetes, sc.Lab), "--lab "+ensembles.LabKubernetes+", or drop --in-cluster")
	}
	if sc.Foreign() && sc.Command() == nil {
		return sc.Refuse("recipe", fmt.Sprintf("%s needs jars of this machine, which a harness in the cluster does not have",
			sc.Recipe), "another recipe, or drop --in-cluster")
	}
	if sc.TxnLogDir != "" {
		return sc.Refuse("txnlog-dir", "a harness in the cluster does not see directories of this machine",
			"drop it, or drop --in-cluster")
	}
	if sc.Connect != "" {
		if _, err := sc.Target().Open(); err != nil {
			return &scenario.InputError{Msg: err.Error()}
		}
	}
	if argv := sc.Command(); argv != nil {
		if _, err := os.Stat(argv[0]); err != nil {
			return sc.Refuse("recipe", fmt.Sprintf("the lock's command: %v", err),
				"exec:FILE with a file of this machine, which is copied to the cluster")
		}
	}
	return nil
}

// Execute carries out one run that [Check] does not refuse, fetches its directory, and judges and draws it. If ctx
// ends, so does the run, as one that was interrupted. Nothing is left in the cluster; if this process is killed, the
// leases of agents see to that.
func Execute(ctx context.Context, sc *scenario.Scenario, dir string, opts Options) (judge.Outcome, error) {
	if err := rundir.CheckDir(dir); err != nil {
		return judge.Outcome{}, err
	}
	// If there is no room for the record, it shows now.
	if err := os.MkdirAll(arriving(dir), 0o755); err != nil {
		return judge.Outcome{}, err
	}
	defer os.Remove(arriving(dir)) // it is empty, or gone
	if err := execute(ctx, sc, dir, opts); err != nil {
		return judge.Outcome{}, err
	}
	return judge.Conclude(dir)
}

func execute(ctx context.Context, sc *scenario.Scenario, dir string, opts Options) (err error) {
	if opts.Binary == "" {
		if opts.Binary, err = os.Executable(); err != nil {
			return err
		}
	}
	lab, err := ensembles.StartLab(ctx, kubernetes.Kind{}, ensembles.LabConfig{Binary: opts.Binary, Log: opts.Log,
		Hosts: []ensembles.HostSpec{{Name: rundir.HarnessHost, Role: ensembles.Harness, Disk: true, Files: filesOf(sc)}}})
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx) // errors that follow from it say nothing new
		}
		return err
	}
	defer func() {
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		err = errors.Join(err, lab.Close(clean))
	}()
	a := lab.Host(rundir.HarnessHost).Agent
	argv := []string{"locklab", Command, scenarioFile, path.Join(agent.DataDir, runDir)}
	if _, err := a.Start(ctx, agent.Spec{Argv: argv, Dir: workDir, Env: environ(sc), Grace: grace,
		Files: map[string]string{scenarioFile: string(sc.Marshal())}}); err != nil {
		return err
	}
	stopped := context.AfterFunc(ctx, func() {
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
		defer cancel()
		if _, err := a.Stop(stop); err != nil && !errors.Is(err, agent.ErrNoProcess) {
			opts.Log.Warn("the harness in the cluster cannot be told to stop", "err", err)
		}
	})
	defer stopped()
	// After an interrupt too, the harness ends by itself and its record is fetched.
	return collect(context.WithoutCancel(ctx), a, dir, opts.Progress)
}

// collect waits until the harness has ended, and brings its record home.
func collect(ctx context.Context, a *agent.Client, dir string, progress io.Writer) error {
	how, err := follow(ctx, a, progress)
	if err != nil {
		return err
	}
	err = insist(ctx, func(ctx context.Context) error { return fetch(ctx, a, dir) })
	if errors.Is(err, fs.ErrNotExist) {
		f := &Failure{How: how}
		_, _ = fmt.Sscanf(how, "exit status %d", &f.Code)
		return f
	}
	return err
}

// filesOf returns the files of this machine that the scenario names. The harness finds them where this process does.
func filesOf(sc *scenario.Scenario) []ensembles.File {
	names := sc.Target().Files()
	if argv := sc.Command(); argv != nil {
		names = append(names, argv[0])
	}
	slices.Sort(names)
	var files []ensembles.File
	for _, name := range slices.Compact(names) {
		target := name
		if !path.IsAbs(target) {
			target = path.Join(agent.DataDir, workDir, target)
		}
		files = append(files, ensembles.File{Source: name, Target: target, Executable: true})
	}
	return files
}

// environ returns the variables that the harness needs.
func environ(sc *scenario.Scenario) []string {
	env := kubernetes.Environ()
	if name := sc.Target().Variable(); name != "" {
		env = append(env, name+"="+os.Getenv(name))
	}
	return env
}

// follow copies what the harness prints until it has ended, and returns how.
func follow(ctx context.Context, a *agent.Client, to io.Writer) (how string, err error) {
	log := path.Join(workDir, agent.LogFile)
	again := time.NewTicker(askEvery)
	defer again.Stop()
	for offset := int64(0); ; {
		var ended bool
		if err := insist(ctx, func(ctx context.Context) error {
			// The state is asked for before the text, so that the text of an ended process is complete.
			st, err := a.Status(ctx)
			if err != nil {
				return err
			}
			text, err := a.FileFrom(ctx, log, offset)
			if err != nil {
				return err
			}
			defer text.Close()
			n, err := io.Copy(to, text)
			offset += n
			how, ended = st.Exit, st.State == history.ProcessExited
			return err
		}); err != nil || ended {
			return how, err
		}
		<-again.C
	}
}

// insist calls do until it succeeds or finds that something does not exist. It returns the last error when its patience
// ends.
func insist(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var absent error
	err := ensembles.Poll(ctx, askEvery, "the harness in the cluster", func() error {
		err := do(ctx)
		if errors.Is(err, fs.ErrNotExist) {
			absent, err = err, nil
		}
		return err
	})
	return errors.Join(err, absent)
}

// arriving is what a run directory is called until it is whole.
func arriving(dir string) string { return strings.TrimRight(dir, "/") + ".arriving" }

// fetch brings the run directory home. It appears there whole or not at all.
func fetch(ctx context.Context, a *agent.Client, dir string) error {
	archive, err := a.Tree(ctx, runDir)
	if err != nil {
		return err
	}
	defer archive.Close()
	parts := arriving(dir)
	if err := os.RemoveAll(parts); err != nil {
		return err
	}
	if err := unpack(archive, parts); err != nil {
		return errors.Join(err, os.RemoveAll(parts))
	}
	return os.Rename(parts, dir)
}

// unpack writes the files and directories of a tar archive below a new directory. [os.Root] refuses names that would
// leave it.
func unpack(from io.Reader, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for archive := tar.NewReader(from); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch h.Typeflag {
		case tar.TypeDir:
			err = root.MkdirAll(h.Name, 0o755)
		case tar.TypeReg:
			err = writeFile(root, h.Name, archive)
		default:
			err = fmt.Errorf("%s is neither a file nor a directory", h.Name)
		}
		if err != nil {
			return err
		}
	}
}

func writeFile(root *os.Root, name string, content io.Reader) error {
	f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Close())
}
