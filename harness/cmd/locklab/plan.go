package main

import (
	"time"

	"locklab/harness"
	"locklab/harness/scenario"
	"locklab/reports"
)

type planCmd struct {
	Dir     string            `arg:"" help:"Directory of a sweep."`
	Clients int               `help:"Clients that ask again as soon as they are done, or, with --rate, that are there to ask." placeholder:"N"`
	Locks   int               `help:"Locks that they share." placeholder:"N"`
	Hold    time.Duration     `help:"How long each lock is held." placeholder:"TIME"`
	Rate    float64           `help:"Arrivals a second, at random, instead of clients that ask again." placeholder:"N"`
	Where   map[string]string `help:"Which part of the sweep is meant, where it varied other keys; repeatable." placeholder:"KEY=VALUE"`
	JSON    bool              `name:"json" help:"Print JSON."`
}

// Run answers a question from a sweep.
func (c *planCmd) Run(std streams) error {
	for _, f := range []struct {
		flag string
		bad  bool
	}{{"--clients", c.Clients < 0}, {"--locks", c.Locks < 0}, {"--hold", c.Hold < 0}, {"--rate", !(c.Rate >= 0 && c.Rate <= 1e6)}} {
		if f.bad {
			return &scenario.InputError{Flag: f.flag, Msg: "out of range", Hint: "a number above 0"}
		}
	}
	s, err := harness.ReadSweep(c.Dir)
	if err != nil {
		return err
	}
	a, err := s.Answer(reports.SweepQuestion{Clients: c.Clients, Locks: c.Locks, Hold: c.Hold, Rate: c.Rate, Where: c.Where})
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(std.Out, a)
	}
	return reports.PrintSweepAnswer(std.Out, a)
}
