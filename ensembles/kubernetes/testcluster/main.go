package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// A list is a flag that can be given several times.
type list []string

// String implements flag.Value.
func (l *list) String() string { return strings.Join(*l, " ") }

// Set implements flag.Value.
func (l *list) Set(text string) error {
	*l = append(*l, text)
	return nil
}

func main() {
	// A child that is to die with this process dies with the thread that started it.
	runtime.LockOSThread()
	os.Exit(run(os.Args[1:]))
}

// run runs a part of the cluster, or all of it with a command beside it, and returns the exit code.
func run(args []string) int {
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		var err error
		switch args[0] {
		case roleSwitch:
			err = runSwitch(args[1])
		case roleNode:
			err = runNode(args[1], args[2])
		default:
			if code := runPart(args[0], args[1:]); code >= 0 {
				return code
			}
			err = fmt.Errorf("there is no part %q", args[0])
		}
		fmt.Fprintln(os.Stderr, "testcluster:", err)
		return 1
	}
	var c cluster
	var archives, binaries list
	flags := flag.NewFlagSet("testcluster", flag.ExitOnError)
	flags.IntVar(&c.Nodes, "nodes", 1, "how many nodes")
	flags.DurationVar(&c.Skew, "skew", 0, "how far the monotonic clocks of all nodes but the first are ahead, in seconds")
	flags.Var(&archives, "archive", "file with images for every node, as docker save writes it")
	flags.Var(&binaries, "binary", "NAME:TAG=FILE: an image that consists of an executable file")
	_ = flags.Parse(args) // it ends the process
	if flags.NArg() == 0 || c.Nodes < 1 || c.Nodes > 9 || c.Skew%time.Second != 0 {
		flags.Usage()
		return 2
	}
	code, err := c.around(archives, binaries, flags.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "testcluster:", err)
		return max(code, 1)
	}
	return code
}
