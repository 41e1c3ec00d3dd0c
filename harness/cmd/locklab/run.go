package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"locklab/harness"
	"locklab/harness/scenario"
	"locklab/workloads"
)

type runCmd struct {
	Scenario string `arg:"" optional:"" default:"mutex" help:"Name of a built-in scenario (locklab scenarios list) or a YAML file."`
	Out      string `help:"Run directory; default runs/<scenario>-<time>." placeholder:"DIR"`
	JSON     bool   `name:"json" help:"Print result.json instead of a summary."`
	PrintCfg bool   `name:"print-config" help:"Print the resolved scenario, with where each value comes from, and do nothing."`
	DryRun   bool   `name:"dry-run" help:"Print which faults would strike when, and start nothing."`
	// A list: kong would cut it at commas, which the scenario does itself.
	Threshold []string `name:"threshold" sep:"none" group:"Keys of the scenario (each is also an environment variable LOCKLAB_…):" help:"A limit on a number of result.json, such as 'acquire.p99<50ms'; repeatable; instead of the scenario's thresholds." placeholder:"LIMIT"`

	Keys kong.Plugins `embed:"" group:"Keys of the scenario (each is also an environment variable LOCKLAB_…):"`
}

// Run carries out a scenario.
func (c *runCmd) Run(ctx context.Context, std streams, log *slog.Logger) error {
	sc, err := resolve(c.Scenario, c.Keys, c.Threshold)
	if err != nil {
		return err
	}
	if c.PrintCfg {
		_, err := std.Out.Write(sc.Explain())
		return err
	}
	if c.DryRun {
		return harness.WriteTimeline(std.Out, sc, nil)
	}
	dir := c.Out
	if dir == "" {
		dir = harness.DefaultDir(sc.Name, time.Now())
	}
	for _, w := range sc.Warnings() {
		fmt.Fprintln(std.Err, "warning:", w)
	}
	fmt.Fprintf(std.Err, "%s: %s\nseed %d (it reproduces the plan, not the interleaving); run directory %s\n", sc.Name, sc.About, sc.Seed, dir)
	opts, end := following(std.Err, log)
	out, err := harness.Execute(ctx, sc, dir, opts)
	end()
	return tell(std, out, c.JSON, err)
}

// resolve loads the scenario, and makes sure that it can be run.
func resolve(name string, keys kong.Plugins, thresholds []string) (*scenario.Scenario, error) {
	sc, err := load(name, keys, thresholds)
	if err != nil {
		return nil, err
	}
	if err := harness.Validate(sc); err != nil {
		return nil, err
	}
	if sc.Seed == 0 {
		sc.Seed = drawSeed()
	}
	return sc, nil
}

func drawSeed() uint64 { return 1 + rand.Uint64N(1<<32) }

// load loads the scenario and puts the environment and the flags over it.
func load(name string, keys kong.Plugins, thresholds []string) (*scenario.Scenario, error) {
	sc, err := loadScenario(name)
	if err != nil {
		return nil, err
	}
	if err := scenario.CheckEnv(os.Environ(), otherVariables); err != nil {
		return nil, err
	}
	if err := sc.ApplyEnv(os.LookupEnv); err != nil {
		return nil, err
	}
	for _, group := range keys {
		if err := setFlags(sc, group); err != nil {
			return nil, err
		}
	}
	if len(thresholds) > 0 {
		if err := sc.SetThresholds(thresholds); err != nil {
			return nil, err
		}
	}
	return sc, nil
}

// loadScenario reads a file if the name looks like one, else a built-in.
func loadScenario(name string) (*scenario.Scenario, error) {
	if !strings.ContainsAny(name, "/.") {
		return scenario.Builtin(workloads.Builtin, name)
	}
	src, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &scenario.InputError{File: name, Msg: "no such file", Hint: "built-in scenarios go without .yaml; see locklab scenarios list"}
	}
	if err != nil {
		return nil, &scenario.InputError{File: name, Msg: err.Error()}
	}
	return scenario.Load(name, src)
}

// scenarioFlags makes a flag of every key of a scenario. kong wants a struct; the
// keys are a list, so that a key is written down once.
func scenarioFlags() kong.Plugins {
	var fields []reflect.StructField
	for i, k := range scenario.Keys() {
		tag := fmt.Sprintf("name:%q help:%q", k.Name, flagHelp(k))
		t := reflect.TypeFor[*string]()
		if k.Bool {
			t = reflect.TypeFor[*bool]()
		} else {
			tag += fmt.Sprintf(" placeholder:%q", placeholder(k))
		}
		fields = append(fields, reflect.StructField{Name: fmt.Sprintf("Key%d", i), Type: t, Tag: reflect.StructTag(tag)})
	}
	return kong.Plugins{reflect.New(reflect.StructOf(fields)).Interface()}
}

func flagHelp(k scenario.Key) string {
	help := strings.ToUpper(k.Help[:1]) + k.Help[1:]
	if k.Default != "" && !k.Bool {
		help += " (" + k.Default + ")"
	}
	return help + "."
}

func placeholder(k scenario.Key) string {
	if len(k.Values) > 0 {
		return strings.Join(k.Values, "|")
	}
	return "VALUE"
}

// setFlags sets the keys whose flags were given.
func setFlags(sc *scenario.Scenario, group any) error {
	v := reflect.ValueOf(group).Elem()
	for i, k := range scenario.Keys() {
		f := v.Field(i)
		if f.IsNil() {
			continue
		}
		if err := sc.Set(k.Name, fmt.Sprint(f.Elem().Interface())); err != nil {
			return err
		}
	}
	return nil
}

// anyGiven reports whether the flag of any key was given.
func anyGiven(keys kong.Plugins) bool {
	for _, group := range keys {
		v := reflect.ValueOf(group).Elem()
		for _, field := range v.Fields() {
			if !field.IsNil() {
				return true
			}
		}
	}
	return false
}

func copyResult(w io.Writer, out harness.Outcome) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(out.Result)
}
