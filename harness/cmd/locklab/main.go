// Command locklab measures ZooKeeper locks and tries to break them.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/alecthomas/kong"

	"locklab/harness"
)

// commands is everything that locklab can be asked for.
type commands struct {
	Demo      demoCmd      `cmd:"" help:"Show in three acts what a session timeout does to a lock, and what stops the damage."`
	Run       runCmd       `cmd:"" help:"Run a scenario and judge it."`
	Sweep     sweepCmd     `cmd:"" help:"Run a grid of scenarios, or search for the highest rate that holds, and say what the locks can carry."`
	Plan      planCmd      `cmd:"" help:"Say from a sweep what another load would come to."`
	Check     checkCmd     `cmd:"" help:"Judge an old run again, from its raw files."`
	Bench     benchCmd     `cmd:"" help:"Run a scenario time after time in one lab, or two sides in turn, and compare them."`
	Compare   compareCmd   `cmd:"" help:"Say whether the runs of one side are worse than those of another."`
	Report    reportCmd    `cmd:"" help:"Draw an old run's report again, from its raw files."`
	Scenarios scenariosCmd `cmd:"" help:"List the built-in scenarios, or show one."`
	Clean     cleanCmd     `cmd:"" help:"Remove what killed runs left in the Docker engine."`
	Doctor    doctorCmd    `cmd:"" help:"Say what this machine can do, and how to get what it lacks."`
	Image     imageCmd     `cmd:"" help:"Make sure that there is an image with Java and ZooKeeper."`

	BenchPeers benchPeersCmd `cmd:"" hidden:"" help:"Compare the speed of our mutex with that of zk.Lock and Curator's."`
	BenchPeer  benchPeerCmd  `cmd:"" hidden:"" help:"Clients of one lock of that comparison."`

	Curator  curatorCmd  `cmd:"" hidden:"" help:"Compile the driver of Apache Curator, and say where it is."`
	Agent    agentCmd    `cmd:"" hidden:"" help:"First process on a host of a lab."`
	Client   clientCmd   `cmd:"" hidden:"" help:"Client process of a lab."`
	Resource resourceCmd `cmd:"" hidden:"" help:"Protected resource of a lab."`
	Protocol protocolCmd `cmd:"" hidden:"" help:"Say which protocols this binary's processes speak."`
}

// streams are where a command writes: results to Out, all else to Err.
type streams struct {
	Out, Err io.Writer
	In       io.Reader
}

func main() {
	os.Exit(locklab())
}

// locklab runs the process's command line and returns its exit code.
func locklab() int {
	ctx, stop := interruptible()
	defer stop()
	return execute(ctx, os.Args[1:], streams{os.Stdout, os.Stderr, os.Stdin})
}

// interruptible is a context that the first interrupt cancels. The second ends the
// process at once; what it leaves, the agents' leases remove.
func interruptible() (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		signal.Stop(signals) // the next one has its default effect
		cancel(harness.ErrInterrupted)
	}()
	return ctx, func() { cancel(nil) }
}

// newParser makes the parser of the command line.
func newParser(std streams) (*kong.Kong, error) {
	return kong.New(&commands{Run: runCmd{Keys: scenarioFlags()}, Bench: benchCmd{Keys: scenarioFlags()}, Sweep: sweepCmd{Keys: scenarioFlags()}}, kong.Name("locklab"),
		kong.Description("Measures ZooKeeper locks and tries to break them.\n\nExit codes: "+exitHelp+"."),
		kong.Writers(std.Out, std.Err), kong.Exit(func(code int) { panic(exit(code)) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}))
}

// exit is what kong's exit hook throws, since it must not return.
type exit int

func execute(ctx context.Context, args []string, std streams) (code int) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case exit:
			code = int(r)
		default:
			// Left to the runtime, a defect would end as bad input does, with 2.
			fmt.Fprintf(std.Err, "locklab: a defect of locklab: %v\n\n%s", r, debug.Stack())
			code = exitHarness
		}
	}()
	log := slog.New(slog.NewTextHandler(std.Err, nil))
	parser, err := newParser(std)
	if err != nil {
		fmt.Fprintln(std.Err, "locklab:", err)
		return exitHarness
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	c, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintf(std.Err, "locklab: %v (see locklab --help)\n", err)
		return exitInput
	}
	c.BindTo(ctx, (*context.Context)(nil))
	c.Bind(std, log)
	if err := c.Run(); err != nil {
		code, shown := codeOf(err)
		if shown != nil && !errors.Is(err, errSaid) {
			fmt.Fprintln(std.Err, "locklab:", shown)
		}
		return code
	}
	return exitOK
}
