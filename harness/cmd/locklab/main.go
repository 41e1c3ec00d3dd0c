// Command locklab measures ZooKeeper locks and tries to break them.
package main

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/alecthomas/kong"

	"locklab/ensembles"
	"locklab/ensembles/debian"
	"locklab/harness/commandline"
	"locklab/harness/console"
	"locklab/harness/inlab"
	"locklab/harness/rundir"
	"locklab/harness/scenario"
	"locklab/harness/settings"
	"locklab/harness/untrusted"
	"locklab/workloads/control"
)

// commands are all commands of locklab.
type commands struct {
	Version versionFlag `help:"Print the version, the commit, the version of Go and that of the protocol."`

	Demo       demoCmd       `cmd:"" help:"Show in three acts how a pause breaks a lock, and what stops the damage."`
	Run        runCmd        `cmd:"" help:"Run a scenario and judge it."`
	Sweep      sweepCmd      `cmd:"" help:"Run a grid of scenarios, or search for the highest rate that holds."`
	Plan       planCmd       `cmd:"" help:"Predict from a sweep what another load would come to."`
	Simulate   simulateCmd   `cmd:"" help:"Run locks on a simulated ensemble, years of faults in minutes, and judge them."`
	Danger     dangerCmd     `cmd:"" help:"Measure how often a pause makes a lock unsafe, by its length, for each guard."`
	Advise     adviseCmd     `cmd:"" help:"Say which session timeout to choose, from the pauses of a process."`
	Check      checkCmd      `cmd:"" help:"Judge an old run again, from its raw files."`
	Bench      benchCmd      `cmd:"" help:"Run a scenario many times in one lab, or two sides in turn, and compare them."`
	Compare    compareCmd    `cmd:"" help:"Say whether the runs of one side are worse than those of another."`
	Init       initCmd       `cmd:"" help:"Write a driver of your own lock, a scenario, or files that gate a repository."`
	Driver     driverCmd     `cmd:"" help:"Try a driver of a lock of your own, before a run does."`
	Export     exportCmd     `cmd:"" help:"Print an old run for other programs: EDN, CSV, Prometheus, trace and more."`
	Report     reportCmd     `cmd:"" help:"Draw an old run's report again, or one picture of it, from its raw files."`
	Serve      serveCmd      `cmd:"" help:"Show the runs below a directory in a browser, also while they last."`
	Repro      reproCmd      `cmd:"" help:"Make a known bug of a lock show, and say which check catches it."`
	Inspect    inspectCmd    `cmd:"" help:"Say who holds a lock of a live ensemble, who waits, and whether it is stuck."`
	Scenarios  scenariosCmd  `cmd:"" help:"List the built-in scenarios, or show one."`
	Clean      cleanCmd      `cmd:"" help:"Remove what killed runs left in the Docker engine, or in an ensemble of yours."`
	Doctor     doctorCmd     `cmd:"" help:"Say what this machine can do, and how to get what it lacks."`
	Manifests  manifestsCmd  `cmd:"" help:"Show what the lab of kind kubernetes applies in a cluster."`
	Image      imageCmd      `cmd:"" help:"Make sure that there is an image with Java and ZooKeeper."`
	Completion completionCmd `cmd:"" help:"Print code that makes a shell complete locklab's command line."`

	Curator curatorCmd `cmd:"" hidden:"" help:"Compile the driver of Apache Curator, and print where it is."`
	Harness harnessCmd `cmd:"" hidden:"" help:"Carry out a run from a pod of its cluster."`
	inlab.Commands
}

func main() {
	os.Exit(locklab())
}

// locklab runs the process's command line and returns its exit code.
func locklab() int {
	ctx, stop := interruptible()
	defer stop()
	return execute(ctx, os.Args[1:], console.Streams{Out: os.Stdout, Err: os.Stderr, In: os.Stdin})
}

// newParser makes the parser of the command line. Unless the help is to be whole, that of long commands is short.
func newParser(std console.Streams, wholeHelp bool) (*kong.Kong, error) {
	all := &commands{
		Run:   runCmd{overrides: overrides{Keys: scenarioFlags()}},
		Bench: benchCmd{overrides: overrides{Keys: scenarioFlags()}},
		Sweep: sweepCmd{overrides: overrides{Keys: scenarioFlags()}},
	}
	return kong.New(all, append(commandline.Values(), kong.Name("locklab"),
		kong.Description("Measures ZooKeeper locks and tries to break them."), kong.Help(printHelp(wholeHelp)),
		kong.Writers(std.Out, std.Err), kong.Exit(func(code int) { panic(exit(code)) }),
		kong.Vars{"labs": strings.Join(ensembles.LabNames(), ",")}, kong.PostBuild(putHelpTexts),
		kong.ExplicitGroups([]kong.Group{{Key: keysGroup, Title: keysTitle}}),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}), kong.ValueFormatter(helpWithDefault))...)
}

// helpTexts has the help of flags and arguments that several commands have, or that is long, by the names that tags
// have for it.
//
//go:embed helptexts.txt
var helpTexts string

// putHelpTexts puts them in the place of their names. As variables of kong, all of them would be searched for variables
// once for every flag of every command, which took half of the time that a command needs to start.
func putHelpTexts(k *kong.Kong) error {
	var pairs []string
	for name, text := range settings.Texts(helpTexts) {
		pairs = append(pairs, "${"+name+"}", strings.ReplaceAll(text, "VERSIONS", debian.Numbers()))
	}
	texts := strings.NewReplacer(pairs...)
	return kong.Visit(k.Model, func(node kong.Visitable, next kong.Next) error {
		if v, ok := node.(*kong.Value); ok {
			v.Help = texts.Replace(v.Help)
		}
		return next(nil)
	})
}

// exit is what kong's exit hook throws, since it must not return.
type exit int

// execute runs a command line and returns its exit code.
func execute(ctx context.Context, args []string, std console.Streams) (code int) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case exit:
			code = int(r)
		default:
			// Left to the runtime, a defect would end with 2, as bad input does.
			d := defectOf(r)
			fmt.Fprintf(std.Err, "locklab: a bug in locklab: %v\n\n%s", d.value, d.stack)
			code = exitHarness
		}
	}()
	log := slog.New(slog.NewTextHandler(std.Err, nil))
	args, wholeHelp := allHelp(args)
	parser, err := newParser(std, wholeHelp)
	if err != nil {
		fmt.Fprintln(std.Err, "locklab:", err)
		return exitHarness
	}
	completeLine(parser)
	if len(args) == 0 {
		fmt.Fprint(std.Out, whichCommand)
		return exitOK
	}
	c, err := commandline.Parse(parser, args)
	if err != nil {
		fmt.Fprintln(std.Err, "locklab:", untrusted.Text(err.Error()))
		return exitInput
	}
	if s := c.Selected(); s == nil || !s.Hidden { // labs start the others
		if err := scenario.CheckEmptyEnv(os.Environ()); err != nil {
			fmt.Fprintln(std.Err, "locklab:", untrusted.Text(err.Error()))
			return exitInput
		}
	}
	c.BindTo(ctx, (*context.Context)(nil))
	c.Bind(std, log, c)
	if err := untilInterrupted(ctx, c.Selected(), func() error { return c.Run() }); err != nil {
		switch { // a command may report only that the context has ended
		case ctx.Err() != nil && err == context.Canceled:
			err = context.Cause(ctx)
		case ctx.Err() != nil && errors.Is(err, context.Canceled):
			err = errors.Join(context.Cause(ctx), err)
		}
		code, shown := codeOf(err)
		if shown != nil && !errors.Is(err, errSaid) {
			fmt.Fprintln(std.Err, "locklab:", untrusted.Text(shown.Error()))
		}
		return code
	}
	return exitOK
}

// A defect is a panic, and where it was.
type defect struct {
	value any
	stack []byte
}

// defectOf returns a recovered value with a stack. If another goroutine panicked, the stack is that goroutine's.
func defectOf(recovered any) defect {
	if d, ok := recovered.(defect); ok {
		return d
	}
	return defect{recovered, debug.Stack()}
}

// A versionFlag prints what this binary was built from, and ends the process.
type versionFlag bool

// BeforeReset implements kong's hook, which comes before the rest of the command line is looked at.
func (versionFlag) BeforeReset(app *kong.Kong) error {
	info, _ := debug.ReadBuildInfo()
	if err := writeVersion(app.Stdout, rundir.Release(), info); err != nil {
		return err
	}
	app.Exit(exitOK)
	return nil
}

// writeVersion writes the version, the commit, the version of Go and the version of the protocol between the harness
// and its client processes. A release is built with a version; otherwise the go command may have recorded one.
func writeVersion(w io.Writer, release string, info *debug.BuildInfo) error {
	if info == nil {
		info = &debug.BuildInfo{}
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	commit := cmp.Or(settings["vcs.revision"], "unknown")
	if settings["vcs.modified"] == "true" {
		commit += ", with changes that are not committed"
	}
	_, err := fmt.Fprintf(w, "locklab %s\ncommit: %s\ngo: %s %s/%s\nprotocol: %d\n",
		cmp.Or(release, info.Main.Version, "(devel)"), commit, cmp.Or(info.GoVersion, runtime.Version()), runtime.GOOS,
		runtime.GOARCH, control.Protocol)
	return err
}
