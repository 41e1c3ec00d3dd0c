package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"locklab/harness/scenario"
	"locklab/workloads/foreign/examples"
)

type initDriverCmd struct {
	File     string `arg:"" optional:"" placeholder:"FILE" help:"${init_driver_file_help}"`
	Language string `required:"" enum:"go,python,java,shell" help:"The driver's language: ${enum}."`
}

const initDriverFileHelp = "The file to write. The default is mylock, or main.go or Lock.java for a language that is " +
	"compiled."

func (initDriverCmd) exits() string { return exitCodes("the file was written") }

// Run writes an example driver and says what is left to do.
func (c *initDriverCmd) Run(std streams) error {
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
