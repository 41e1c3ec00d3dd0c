package main

import (
	"fmt"
	"time"

	"locklab/harness/scenario"
	"locklab/harness/series"
	"locklab/harness/settings"
	"locklab/reports/sweep"
)

type planCmd struct {
	Dir     string            `arg:"" predictor:"dir" help:"Directory of a sweep."`
	Clients int               `placeholder:"N" help:"${plan_clients_help}"`
	Locks   int               `placeholder:"N" help:"Locks that the clients share."`
	Hold    time.Duration     `placeholder:"TIME" help:"How long each lock is held."`
	Rate    float64           `placeholder:"N" help:"Arrivals per second, at random, instead of clients that ask again."`
	Where   map[string]string `placeholder:"KEY=VALUE" help:"Which part of a sweep that varied more keys. Repeatable."`
	JSON    bool              `name:"json" help:"Print the answer as JSON."`
}

// Run answers a question from a sweep.
func (c *planCmd) Run(std streams) error {
	for _, f := range [...]struct {
		flag  string
		value any
		bad   bool
	}{
		{"--clients", c.Clients, c.Clients < 0}, {"--locks", c.Locks, c.Locks < 0}, {"--hold", c.Hold, c.Hold < 0},
		{"--rate", settings.FormatNumber(c.Rate), !(c.Rate >= 0 && c.Rate <= 1e6)},
	} {
		if f.bad {
			return &scenario.InputError{Flag: f.flag, Msg: fmt.Sprintf("%v is out of range", f.value), Hint: "above 0"}
		}
	}
	if err := checkSeriesDir("plan", c.Dir, series.IsSweep, series.ErrNoSweep); err != nil {
		return err
	}
	s, err := series.ReadSweep(c.Dir)
	if err != nil {
		return err
	}
	question := sweep.Question{Clients: c.Clients, Locks: c.Locks, Hold: c.Hold, Rate: c.Rate, Where: c.Where}
	a, err := s.Answer(question)
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(std.Out, a)
	}
	return sweep.PrintAnswer(std.Out, a)
}
