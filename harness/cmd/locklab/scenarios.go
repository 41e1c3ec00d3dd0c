package main

import (
	"fmt"
	"text/tabwriter"

	"locklab/harness"
	"locklab/harness/scenario"
	"locklab/workloads"
)

type scenariosCmd struct {
	List   listCmd   `cmd:"" help:"List the built-in scenarios, with the question that each answers."`
	Show   showCmd   `cmd:"" help:"Print a built-in scenario, as a file that run accepts."`
	Schema schemaCmd `cmd:"" help:"Print a JSON Schema of scenario files, for editors."`
}

type listCmd struct{}

// Run lists the built-in scenarios under the questions of those who ask them.
func (listCmd) Run(std streams) error {
	all, err := scenario.Builtins(workloads.Builtin)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(std.Out, 0, 4, 2, ' ', 0)
	for i, g := range scenario.ByAnswer(all) {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintln(w, g.Question)
		for _, s := range g.Scenarios {
			fmt.Fprintf(w, "  %s\t%s\n", s.Name, s.About)
		}
	}
	return w.Flush()
}

type showCmd struct {
	Name string `arg:"" help:"Name of a built-in scenario."`
}

// Run prints a scenario with its comments.
func (c *showCmd) Run(std streams) error {
	src, err := scenario.BuiltinSource(workloads.Builtin, c.Name)
	if err != nil {
		return err
	}
	_, err = std.Out.Write(src)
	return err
}

type schemaCmd struct{}

// Run prints the schema.
func (schemaCmd) Run(std streams) error {
	schema, err := scenario.Schema(harness.Metrics())
	if err != nil {
		return err
	}
	_, err = std.Out.Write(schema)
	return err
}
