package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"locklab/harness/console"
	"locklab/harness/gate"
	"locklab/harness/scenario"
	"locklab/harness/untrusted"
	"locklab/workloads/foreign/examples"
)

type initCmd struct {
	Driver   initDriverCmd   `cmd:"" help:"Write a driver for a lock of your own, to test it with --recipe exec:FILE."`
	Scenario initScenarioCmd `cmd:"" help:"Write a scenario with comments, for the answers to four questions."`
	Gate     initGateCmd     `cmd:"" help:"Write a GitHub workflow and a scenario that gate a repository's own lock."`
}

type initGateCmd struct {
	Dir         string `arg:"" optional:"" default:"." predictor:"dir" help:"The repository's root."`
	Build       string `required:"" placeholder:"COMMAND" help:"The command that builds the lock, run in a checkout."`
	Lock        string `required:"" placeholder:"FILE" help:"${init_lock_help}"`
	URL         string `name:"url" required:"" placeholder:"URL" help:"Where the workflow gets the locklab binary."`
	SHA256      string `name:"sha256" placeholder:"DIGEST" help:"${init_sha256_help}"`
	Layout      string `placeholder:"LAYOUT" help:"The lock's znodes, as in a scenario."`
	ClientImage string `placeholder:"IMAGE" help:"The image in which the lock runs, instead of ZooKeeper's."`

	Budget time.Duration `default:"5m" help:"${budget_help}"`
	judged
}

var digest = regexp.MustCompile(`^[0-9a-f]{64}$`)

// Run writes the files and says what is left to do.
func (c *initGateCmd) Run(std console.Streams) error {
	if err := c.check(); err != nil {
		return err
	}
	if c.SHA256 == "" {
		own, err := os.Executable()
		if err == nil {
			c.SHA256, err = untrusted.Digest(own)
		}
		if err != nil {
			return err
		}
	}
	names, err := gate.Write(c.Dir, gate.Config{Build: c.Build, Lock: c.Lock, Layout: c.Layout,
		ClientImage: c.ClientImage, URL: c.URL, SHA256: c.SHA256, Flags: c.flags()})
	if errors.Is(err, gate.ErrExists) {
		return &scenario.InputError{Flag: "init gate", Msg: err.Error(), Hint: "remove it first; nothing was written"}
	}
	if err != nil {
		return err
	}
	for _, name := range names {
		fmt.Fprintln(std.Out, filepath.Join(c.Dir, name))
	}
	fmt.Fprintln(std.Err, "Commit both files, and add what your build needs to the workflow. The base of a pull request "+
		"has to build the lock, too.")
	return nil
}

// check refuses what would break the workflow only when it runs.
func (c *initGateCmd) check() error {
	for flag, text := range map[string]string{"--build": c.Build, "--lock": c.Lock, "--url": c.URL,
		"--layout": c.Layout, "--client-image": c.ClientImage} {
		if strings.ContainsAny(text, "\n\r") {
			return scenario.Refuse(flag, "one command; put more into a script", "it has several lines")
		}
	}
	file, _, _ := strings.Cut(c.Lock, " ")
	switch u, err := url.Parse(c.URL); {
	case c.Budget <= 0:
		return scenario.Refuse("--budget", "such as 5m", "%s is not a time to measure", c.Budget)
	case !filepath.IsLocal(file):
		return scenario.Refuse("--lock", "such as bin/lock", "%q is not a file below the repository's root", file)
	case err != nil || u.Scheme == "":
		return scenario.Refuse("--url", "such as https://…/v1.2.3/locklab-linux-amd64", "%q is not an address", c.URL)
	case c.SHA256 != "" && !digest.MatchString(c.SHA256):
		return scenario.Refuse("--sha256", "64 hexadecimal digits, as sha256sum prints them", "%q is not a SHA-256", c.SHA256)
	}
	return c.options().Check()
}

// flags returns the flags of bench that say how long to measure and how to judge.
func (c *initGateCmd) flags() string {
	all := []string{"--budget", c.Budget.String()}
	for _, name := range c.Metric {
		all = append(all, "--metric", name)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Tolerate)) {
		all = append(all, "--tolerate", fmt.Sprintf("%s=%v", name, c.Tolerate[name]))
	}
	return strings.Join(all, " ")
}

type initDriverCmd struct {
	File     string `arg:"" optional:"" placeholder:"FILE" help:"${init_driver_file_help}"`
	Language string `required:"" enum:"go,python,java,shell" placeholder:"go|python|java|shell" help:"Its language."`
}

// Run writes an example driver and says what is left to do.
func (c *initDriverCmd) Run(std console.Streams) error {
	d := examples.Drivers[slices.IndexFunc(examples.Drivers,
		func(d examples.Driver) bool { return d.Language == c.Language })]
	source, err := d.Source()
	if err != nil {
		return err
	}
	file := cmp.Or(c.File, d.File)
	mode := fs.FileMode(0o644)
	if d.Script {
		mode = 0o755
	}
	if err := writeNew("init driver", file, source, mode); err != nil {
		return err
	}
	fmt.Fprintln(std.Out, file)
	fmt.Fprintf(std.Err, "This driver tests %s. For your own lock, change %s.\n", d.Lock, d.Change)
	program := "mylock"
	if d.Script {
		program = file
	} else {
		fmt.Fprintln(std.Err, "Build it:")
	}
	for _, step := range d.Steps {
		fmt.Fprintln(std.Err, "  "+step)
	}
	if !filepath.IsAbs(program) {
		program = "./" + filepath.Clean(program)
	}
	fmt.Fprintf(std.Err, "Try it, and then measure it:\n"+
		"  locklab driver check %s\n  locklab run mutex --recipe exec:%[1]s\n", program)
	return nil
}

// writeNew writes a file that must not be there yet.
func writeNew(command, name string, content []byte, mode fs.FileMode) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	switch {
	case errors.Is(err, fs.ErrExist):
		return &scenario.InputError{Flag: command, Msg: name + " exists", Hint: "remove it first; nothing was written"}
	case err != nil:
		return &scenario.InputError{Flag: command, Msg: err.Error()}
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Close())
}
