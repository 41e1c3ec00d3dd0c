package series

import (
	"path/filepath"
	"slices"

	"locklab/ensembles"
	"locklab/harness/rundir"
	"locklab/harness/scenario"
	"locklab/reports/danger"
)

// putBeside puts the measurement in the directory beside next to d or, without one, what the report in dir has there.
func putBeside(d *danger.Danger, dir, beside string) error {
	if beside == "" {
		old, err := readDanger(dir)
		if err != nil || old.Beside == nil {
			return nil // there is no report yet, or it is replaced
		}
		d.SetBeside(old.Beside.Name, old.Beside.Panels)
		return nil
	}
	plan, err := ReadDangerPlan(beside)
	if err != nil {
		return err
	}
	other, err := readDanger(beside)
	if err != nil {
		return err
	}
	name := filepath.Base(beside)
	if plan.Lab == ensembles.LabSim {
		name = "simulated"
	}
	d.SetBeside(name, other.Panels)
	return nil
}

// CheckBeside refuses a directory whose measurement cannot be drawn beside that of the plan.
func (p *DangerPlan) CheckBeside(dir string) error {
	other, err := ReadDangerPlan(dir)
	if err != nil {
		return err
	}
	const flag, hint = "--beside", "a measurement with the same session timeout, tick and servers, and some of the same " +
		"curves and doses"
	if other.Timeout != p.Timeout || other.Tick != p.Tick || other.Servers != p.Servers {
		return scenario.Refuse(flag, hint, "%s has a session timeout of %s, a tick of %s and %d servers, and this one %s, "+
			"%s and %d", dir, other.Timeout, other.Tick, other.Servers, p.Timeout, p.Tick, p.Servers)
	}
	has := func(dose float64) bool { return slices.Contains(other.Doses, dose) }
	curves := other.curves()
	if !slices.ContainsFunc(p.Doses, has) ||
		!slices.ContainsFunc(p.curves(), func(c dangerCurve) bool { return slices.Contains(curves, c) }) {
		return scenario.Refuse(flag, hint, "%s has no point of this measurement", dir)
	}
	return nil
}

// readDanger reads the danger.json of a measurement.
func readDanger(dir string) (*danger.Danger, error) {
	d := &danger.Danger{}
	return d, rundir.ReadJSON(filepath.Join(dir, dangerFile), d)
}
