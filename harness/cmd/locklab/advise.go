package main

import (
	"fmt"
	"path/filepath"
	"time"

	"locklab/harness/console"
	"locklab/harness/rundir"
	"locklab/reports/advice"
	"locklab/reports/chart"
)

type adviseCmd struct {
	Pauses          []string        `required:"" sep:"none" predictor:"file" placeholder:"SOURCE" help:"${pauses_help}"`
	PausesIn        string          `enum:",ns,us,ms" default:"" placeholder:"UNIT" help:"${pauses_in_help}"`
	Tick            time.Duration   `default:"2s" placeholder:"TIME" help:"The servers' tick."`
	SessionTimeouts []time.Duration `placeholder:"TIME" help:"${session_timeouts_help}"`
	CrashesAYear    float64         `default:"12" placeholder:"N" help:"${crashes_help}"`
	Clients         int             `default:"10" placeholder:"N" help:"Clients, each with its own session and pauses."`
	Holding         float64         `default:"0.1" placeholder:"SHARE" help:"${holding_help}"`
	Guard           string          `default:"none" placeholder:"GUARD" help:"${advise_guard_help}"`
	Cost            time.Duration   `default:"1h" placeholder:"TIME" help:"${cost_help}"`
	ExpiryCost      time.Duration   `default:"1m" placeholder:"TIME" help:"The same for one false expiry."`
	Reconnect       time.Duration   `default:"1s" placeholder:"TIME" help:"${reconnect_help}"`
	HandOff         time.Duration   `default:"5ms" placeholder:"TIME" help:"${hand_off_help}"`
	AccessEvery     time.Duration   `default:"10ms" placeholder:"TIME" help:"${access_every_help}"`
	Access          time.Duration   `default:"1ms" placeholder:"TIME" help:"${access_help}"`
	Out             string          `predictor:"dir" env:"LOCKLAB_OUT" placeholder:"DIR" help:"${advise_out_help}"`
	JSON            bool            `name:"json" help:"Print the advice as JSON."`
}

// units are those of the values of HdrHistogram logs.
var units = map[string]time.Duration{"ns": time.Nanosecond, "us": time.Microsecond, "ms": time.Millisecond}

func (c *adviseCmd) Run(std console.Streams) error {
	pauses, err := advice.Read(c.Pauses, units[c.PausesIn])
	if err != nil {
		return err
	}
	a, err := advice.Advise(pauses, advice.Config{
		Tick: c.Tick, Timeouts: c.SessionTimeouts, Clients: c.Clients, Holding: c.Holding, CrashesAYear: c.CrashesAYear,
		HandOff: c.HandOff, Reconnect: c.Reconnect, AccessEvery: c.AccessEvery, Access: c.Access, Guard: c.Guard,
		DoubleHoldCost: c.Cost, ExpiryCost: c.ExpiryCost,
	})
	if err != nil {
		return err
	}
	dir := outDir(c.Out, "advise")
	if err := saveAdvice(dir, a); err != nil {
		return err
	}
	fmt.Fprintf(std.Err, "picture and numbers in %s\n", dir)
	if c.JSON {
		err = console.PrintJSON(std.Out, a)
	} else {
		err = advice.Print(std.Out, a)
	}
	return ending{unknown: a.Undecided != ""}.with(err)
}

// saveAdvice writes the advice and its picture into an empty directory.
func saveAdvice(dir string, a *advice.Advice) error {
	if err := rundir.CheckDir(dir); err != nil {
		return err
	}
	picture, err := a.Figure().Render()
	if err != nil {
		return err
	}
	if err := chart.Save(dir, []chart.Picture{picture}); err != nil {
		return err
	}
	return rundir.WriteJSON(filepath.Join(dir, "advice.json"), a)
}
