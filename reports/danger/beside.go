package danger

import "fmt"

// A Beside is another measurement whose points are drawn in the same picture, such as a simulated one.
type Beside struct {
	Name   string  `json:"name"` // what the picture calls it: "simulated", or its directory
	Panels []Panel `json:"panels"`
	// Of is at how many points, each a dose of a curve, both have trials, and Within at how many of them all shares of
	// the other lie within the intervals of this one.
	Within int `json:"within"`
	Of     int `json:"of"`
}

// SetBeside puts the panels of another measurement beside this one's.
func (d *Danger) SetBeside(name string, panels []Panel) {
	b := &Beside{Name: name, Panels: panels}
	for i := range d.Panels {
		for k := range d.Panels[i].Curves {
			c := &d.Panels[i].Curves[k]
			there := b.curve(d.Panels[i].Name, c.Name())
			if there == nil {
				continue
			}
			for n := range c.Points {
				p, q := &c.Points[n], there.at(c.Points[n].Dose)
				if q == nil || p.Trials() == 0 || q.Trials() == 0 {
					continue
				}
				b.Of++
				if p.Believed.has(q.Believed) && p.Stale.has(q.Stale) && p.Lost.has(q.Lost) {
					b.Within++
				}
			}
		}
	}
	d.Beside = b
}

// has reports whether another share lies within the interval of this one.
func (s Share) has(other Share) bool { return s.Low <= other.Estimate() && other.Estimate() <= s.High }

// curve returns a curve of a panel; nil if there is none.
func (b *Beside) curve(panel, name string) *Curve {
	for i := range b.Panels {
		for k := range b.Panels[i].Curves {
			if c := &b.Panels[i].Curves[k]; b.Panels[i].Name == panel && c.Name() == name {
				return c
			}
		}
	}
	return nil
}

// at returns the point of a dose; nil if there is none.
func (c *Curve) at(dose float64) *Point {
	for i := range c.Points {
		if c.Points[i].Dose == dose {
			return &c.Points[i]
		}
	}
	return nil
}

// headline says how well both agree.
func (b *Beside) headline() string {
	return fmt.Sprintf("At %d of the %d points that both have, all shares of the other measurement (%s) lie within the "+
		"95 %% intervals of this one.", b.Within, b.Of, b.Name)
}
