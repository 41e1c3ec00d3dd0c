package main

import (
	"bufio"
	"bytes"
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"locklab/harness/console"
	"locklab/harness/scenario"
	"locklab/reports/result"
	"locklab/workloads/lock"
)

type initScenarioCmd struct {
	File     string `arg:"" optional:"" default:"scenario.yaml" help:"The file to write."`
	Question string `placeholder:"speed|pause|cut-off|crash" help:"${init_question_help}"`
	Recipe   string `placeholder:"RECIPE" help:"Which lock: one of locklab's, or exec: and a driver of yours."`
	Clients  string `placeholder:"N" help:"How many clients contend for it."`
	Hold     string `placeholder:"TIME" help:"How long a client holds it."`
}

// questions lists what a scenario can be made to answer.
var questions = []string{"speed", "pause", "cut-off", "crash"}

//go:embed initscenario.yaml.tmpl
var starter string

// Run asks what the flags do not say, and writes a scenario with comments.
func (c *initScenarioCmd) Run(std console.Streams) error {
	in := bufio.NewScanner(std.In)
	for _, q := range []struct {
		text, ifEmpty string
		answer        *string
	}{
		{"What do you want to find out? speed, pause, cut-off or crash", "speed", &c.Question},
		{"Which lock? mutex, read-write, …, or exec:./mylock for yours (locklab run --help lists them)", "mutex", &c.Recipe},
		{"How many clients?", "8", &c.Clients},
		{"How long does a client hold the lock?", "20ms", &c.Hold},
	} {
		if *q.answer != "" {
			continue
		}
		fmt.Fprintf(std.Err, "%s [%s] ", q.text, q.ifEmpty)
		if in.Scan() {
			*q.answer = strings.TrimSpace(in.Text())
		} else {
			fmt.Fprintln(std.Err)
		}
		if *q.answer == "" {
			*q.answer = q.ifEmpty
		}
	}
	if err := in.Err(); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	source, err := c.source()
	if err != nil {
		return err
	}
	if err := writeNew("init scenario", c.File, source, 0o644); err != nil {
		return err
	}
	fmt.Fprintln(std.Out, c.File)
	run := c.File
	if !strings.ContainsAny(run, "/.") {
		run = "./" + run
	}
	fmt.Fprintf(std.Err, "Look at what would happen, and then run it:\n"+
		"  locklab run %s --dry-run\n  locklab run %[1]s\n", run)
	return nil
}

// source returns the file, once each answer has been checked by the rules of scenarios.
func (c *initScenarioCmd) source() ([]byte, error) {
	if !slices.Contains(questions, c.Question) {
		return nil, &scenario.InputError{Flag: "--question", Msg: fmt.Sprintf("%q is no question", c.Question),
			Hint: "known: " + strings.Join(questions, ", ")}
	}
	sc := scenario.Defaults()
	for _, a := range []struct{ key, text string }{{"recipe", c.Recipe}, {"clients", c.Clients}, {"hold", c.Hold}} {
		if err := sc.Set(a.key, a.text); err != nil {
			return nil, err
		}
	}
	if sc.Clients < 2 {
		return nil, &scenario.InputError{Flag: "--clients", Msg: "one client has the lock for itself", Hint: "2 or more"}
	}
	about, err := template.New("scenario").Parse(starter)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = about.Execute(&b, struct {
		*initScenarioCmd
		Name, Workload string
		Processes      int
	}{c, scenarioName(c.File), lock.FindAll(sc.Recipe)[0].Workloads[0], 2})
	if err != nil {
		return nil, err
	}
	made, err := scenario.Load(c.File, b.Bytes())
	if err == nil {
		err = result.Validate(made)
	}
	return b.Bytes(), err
}

var noName = regexp.MustCompile(`[^a-z0-9]+`)

// scenarioName makes a scenario's name of that of its file.
func scenarioName(file string) string {
	name := strings.ToLower(strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)))
	name = strings.Trim(noName.ReplaceAllString(name, "-"), "-")
	return cmp.Or(name[:min(len(name), 40)], "mine")
}
