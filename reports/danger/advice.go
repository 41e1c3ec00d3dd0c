package danger

import (
	"fmt"
	"slices"

	"locklab/workloads/guard"
)

// Advice says what to do after what was measured. How says of each kind of data how it is made to refuse outdated
// accesses; it is empty if no trial did harm.
func (d *Danger) Advice() (all, how []string) {
	if d.Violation != "" {
		all = append(all, "Look at the violation first. The report of its run says which operations it is, and how to "+
			"see it again. Until it is explained, none of the shares below says anything about pauses and cuts.")
	}
	harmful, harmless, from := d.harm()
	if len(harmful) == 0 {
		return append(all, "No trial did harm. That says nothing about longer faults or other loads: a lock alone does not "+
			"protect data from a client that stands still. See "+guard.Manual+" in locklab's repository."), nil
	}
	all = append(all, fmt.Sprintf("With %s, an outdated access had an effect, from faults of %s T on. Do not leave data "+
		"that matters to that.", joined(harmful), doseText(from)))
	if len(harmless) > 0 {
		all = append(all, fmt.Sprintf("With %s, none had: protect the data so.", joined(harmless)))
	}
	return append(all, "A longer session timeout makes fewer of your pauses dangerous, and keeps the lock of a dead "+
		"client for longer. locklab advise weighs the two by the pauses of your own processes.",
		"What each guard costs and lets through: "+guard.Manual+" in locklab's repository."), guard.HowTo()
}

// harm returns the curves in which outdated accesses had an effect, those in which none had, and the least dose that
// did harm.
func (d *Danger) harm() (harmful, harmless []string, from float64) {
	var tried []string
	for i := range d.Panels {
		for k := range d.Panels[i].Curves {
			c := &d.Panels[i].Curves[k]
			name := c.Name()
			if c.Trials() > 0 && !slices.Contains(tried, name) {
				tried = append(tried, name)
			}
			for n := range c.Points {
				p := &c.Points[n]
				if p.Stale.Count+p.Lost.Count == 0 {
					continue
				}
				if len(harmful) == 0 || p.Dose < from {
					from = p.Dose
				}
				if !slices.Contains(harmful, name) {
					harmful = append(harmful, name)
				}
			}
		}
	}
	harmless = slices.DeleteFunc(tried, func(name string) bool { return slices.Contains(harmful, name) })
	return harmful, harmless, from
}
