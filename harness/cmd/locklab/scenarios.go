package main

import (
	"locklab/harness/console"
	"locklab/harness/scenario"
	"locklab/reports/result"
	"locklab/workloads"
)

type scenariosCmd struct {
	List   listCmd   `cmd:"" help:"List the built-in scenarios, with the question that each answers."`
	Show   showCmd   `cmd:"" help:"Print a built-in scenario, as a file that run accepts."`
	Schema schemaCmd `cmd:"" help:"Print a JSON Schema of scenario files, for editors."`
}

type listCmd struct {
	JSON bool `name:"json" help:"Print the list as JSON."`
}

// A listedScenario is an element of what scenarios list --json prints.
type listedScenario struct {
	Name    string `json:"name"`
	About   string `json:"about"`
	Answers string `json:"answers"` // who asks the question
}

// Run lists the built-in scenarios by the reader whose question they answer.
func (c *listCmd) Run(std console.Streams) error {
	all, err := scenario.Builtins(workloads.Builtin)
	if err != nil {
		return err
	}
	if c.JSON {
		list := []listedScenario{}
		for _, g := range scenario.ByAnswer(all) {
			for _, s := range g.Scenarios {
				list = append(list, listedScenario{s.Name, s.About, s.Answers})
			}
		}
		return console.PrintJSON(std.Out, list)
	}
	return console.PrintTable(std.Out, console.Scenarios, scenario.ByAnswer(all))
}

type showCmd struct {
	Name string `arg:"" predictor:"builtin" help:"Name of a built-in scenario."`
}

// Run prints a scenario with its comments.
func (c *showCmd) Run(std console.Streams) error {
	src, err := scenario.BuiltinSource(workloads.Builtin, c.Name)
	if err != nil {
		return err
	}
	_, err = std.Out.Write(src)
	return err
}

type schemaCmd struct{}

func (schemaCmd) Run(std console.Streams) error {
	schema, err := scenario.Schema(result.Metrics())
	if err != nil {
		return err
	}
	_, err = std.Out.Write(schema)
	return err
}
