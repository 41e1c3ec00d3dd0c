package danger

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"locklab/reports/measure"
	"locklab/reports/words"
	"locklab/workloads/guard"
)

// SchemaVersion is the version of danger.json.
const SchemaVersion = 2

// A Danger is what was measured: danger.json. Lengths of time are in nanoseconds.
type Danger struct {
	SchemaVersion int `json:"schema_version"`
	// Headline is all headlines in one line, for lists of measurements.
	Headline  string  `json:"headline"`
	Seed      uint64  `json:"seed"`
	TimeoutNs int64   `json:"session_timeout_ns"`
	TickNs    int64   `json:"tick_ns"`
	Victims   int     `json:"victims"` // processes of a run that are struck
	Servers   int     `json:"servers"`
	Panels    []Panel `json:"panels"`
	// Beside is another measurement in the same picture; nil if there is none.
	Beside *Beside `json:"beside,omitempty"`
	// Open is how many points have bands that are still too wide.
	Open int `json:"open"`
	// Violation is what a run found that no fault explains; empty if there is none.
	Violation string   `json:"violation,omitempty"`
	Warnings  []string `json:"warnings"`

	_ struct{}
}

// A Panel is what happens to a holder, and the curves of all locks and guards for it.
type Panel struct {
	Name  string `json:"name"`
	Title string `json:"title"` // what the holders are: "paused directly before the write"
	// Faults names the faults, in the plural, and Axis what their doses measure.
	Faults string `json:"faults"`
	Axis   string `json:"axis"`
	HoldNs int64  `json:"hold_ns"` // how long clients work
	// PastCheck says that the faults strike between a guard's check and the access, where no check helps.
	PastCheck bool `json:"past_check"`
	// Expires is the predicted band of doses in which a session expires.
	Expires [2]float64 `json:"expires"`
	Curves  []Curve    `json:"curves"`
}

// A Curve is one lock with one guard.
type Curve struct {
	Recipe string  `json:"recipe"`
	Guard  string  `json:"guard"`
	Runs   int     `json:"runs"`
	Grants int64   `json:"grants"`
	Points []Point `json:"points"` // the smallest dose first
	Costs  Costs   `json:"costs"`
}

// Promises reports whether the guard promises that no outdated access has an effect.
func (c *Curve) Promises() bool {
	g, _ := guard.Find(c.Guard)
	return g.RefusesStale()
}

// Name names the curve: by the guard, or by the lock if that is another one than this library's.
func (c *Curve) Name() string { return CurveName(c.Recipe, c.Guard) }

// CurveName names a lock with a guard.
func CurveName(recipe, with string) string {
	switch {
	case recipe == "mutex":
		return with
	case with == guard.None:
		return recipe
	}
	return recipe + " " + with
}

// A Point is all trials of one dose.
type Point struct {
	Dose float64 `json:"dose"` // in session timeouts; see the panel's Axis
	// LeftOut are the faults that were planned and are no trials, by reason.
	LeftOut map[string]int `json:"left_out"`
	// MedianNs is the median length of the faults as they really were.
	MedianNs int64 `json:"median_ns"`

	Believed Share `json:"believed_at_once"`
	Stale    Share `json:"stale_accepted"`
	Lost     Share `json:"update_lost"`
	// GivenUp is the share of holds that were given up although the servers still had them.
	GivenUp Share `json:"given_up_valid"`
}

// Trials is the number of trials.
func (p *Point) Trials() int { return p.Believed.Of }

// Open reports whether an interval of the point is still wider than allowed, with fewer than the most trials.
func (p *Point) Open(band float64, most int) bool {
	return p.Trials() < most && max(p.Believed.Width(), p.Stale.Width(), p.Lost.Width()) > band
}

// Costs are medians over the runs of a curve. They are of runs with faults, so they are for comparing guards. A cost
// that was not measured is nil.
type Costs struct {
	AcquireP50Ns *float64 `json:"acquire_p50_ns"`
	HandOffP50Ns *float64 `json:"handoff_p50_ns"`
	Requests     *float64 `json:"requests_per_acquire"`
	PerSecond    *float64 `json:"acquired_per_s"`
	GivenUp      Share    `json:"given_up_valid"` // over all trials
}

// A Trial is one fault that struck a holder.
type Trial struct {
	Dose float64
	// LeftOut says why it does not count; empty if it does.
	LeftOut               string
	LengthNs              int64 // as it really was
	Believed, Stale, Lost bool
	GivenUp               *bool // nil if that is not known
}

// A RunCost is what one run cost; nil where that was not measured.
type RunCost struct{ AcquireP50Ns, HandOffP50Ns, Requests, PerSecond *float64 }

// CurveOf adds trials up. The doses are those that were planned.
func CurveOf(recipe, with string, doses []float64, trials []Trial, runs []RunCost, grants int64) Curve {
	c := Curve{Recipe: recipe, Guard: with, Runs: len(runs), Grants: grants}
	var givenUp, judged int
	for _, dose := range doses {
		p := Point{Dose: dose, LeftOut: map[string]int{}}
		var n, believed, stale, lost, up, known int
		var lengths []int64
		for _, t := range trials {
			switch {
			case t.Dose != dose:
				continue
			case t.LeftOut != "":
				p.LeftOut[t.LeftOut]++
				continue
			}
			n++
			lengths = append(lengths, t.LengthNs)
			believed, stale, lost = believed+one(t.Believed), stale+one(t.Stale), lost+one(t.Lost)
			if t.GivenUp != nil {
				known, up = known+1, up+one(*t.GivenUp)
			}
		}
		p.Believed, p.Stale, p.Lost = ShareOf(believed, n), ShareOf(stale, n), ShareOf(lost, n)
		p.GivenUp = ShareOf(up, known)
		givenUp, judged = givenUp+up, judged+known
		if slices.Sort(lengths); len(lengths) > 0 {
			p.MedianNs = lengths[len(lengths)/2]
		}
		c.Points = append(c.Points, p)
	}
	of := func(value func(RunCost) *float64) *float64 {
		var all []float64
		for _, r := range runs {
			if v := value(r); v != nil {
				all = append(all, *v)
			}
		}
		if len(all) == 0 {
			return nil
		}
		return new(measure.Median(all))
	}
	c.Costs = Costs{
		AcquireP50Ns: of(func(r RunCost) *float64 { return r.AcquireP50Ns }),
		HandOffP50Ns: of(func(r RunCost) *float64 { return r.HandOffP50Ns }),
		Requests:     of(func(r RunCost) *float64 { return r.Requests }),
		PerSecond:    of(func(r RunCost) *float64 { return r.PerSecond }),
		GivenUp:      ShareOf(givenUp, judged),
	}
	return c
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Trials is the number of trials of all points.
func (c *Curve) Trials() (n int) {
	for i := range c.Points {
		n += c.Points[i].Trials()
	}
	return n
}

// sum adds up an outcome over the doses of a range.
func (c *Curve) sum(of func(*Point) Share, from, to float64) Share {
	var count, n int
	for i := range c.Points {
		if p := &c.Points[i]; p.Dose >= from && p.Dose <= to {
			count, n = count+of(p).Count, n+of(p).Of
		}
	}
	return ShareOf(count, n)
}

// Threshold is the dose at which half of the trials have two clients that believe at once, between the two doses that
// it lies between; false if no dose is below it or none is above it.
func (c *Curve) Threshold() (float64, bool) {
	var below *Point
	for i := range c.Points {
		p := &c.Points[i]
		switch {
		case p.Trials() == 0:
		case p.Believed.Estimate() < 0.5:
			below = p
		case below == nil:
			return 0, false
		default:
			from, to := below.Believed.Estimate(), p.Believed.Estimate()
			return below.Dose + (p.Dose-below.Dose)*(0.5-from)/(to-from), true
		}
	}
	return 0, false
}

// Headlines says in sentences what the curves show, the worst panel last.
func (d *Danger) Headlines() []string {
	var all []string
	for i := range d.Panels {
		all = append(all, d.Panels[i].headlines()...)
	}
	if d.Beside != nil {
		all = append(all, d.Beside.headline())
	}
	if asking := d.guards(guard.Guard.Asks); len(asking) > 0 &&
		!slices.ContainsFunc(d.Panels, func(p Panel) bool { return p.PastCheck }) {
		all = append(all, fmt.Sprintf("Not measured: what gets past %s when a client is stopped between the check and the "+
			"access (--panels worst).", joined(asking)))
	}
	return all
}

// guards are the names of the measured guards of which something is true.
func (d *Danger) guards(is func(guard.Guard) bool) (names []string) {
	for _, g := range guard.All {
		measured := func(c Curve) bool { return c.Guard == g.Name && c.Name() == g.Name }
		if is(g) && slices.ContainsFunc(d.Panels, func(p Panel) bool { return slices.ContainsFunc(p.Curves, measured) }) {
			names = append(names, g.Name)
		}
	}
	return names
}

// Guards says of each measured guard in a line what it is and what it is known to let through.
func (d *Danger) Guards() (lines []string) {
	for _, name := range d.guards(func(guard.Guard) bool { return true }) {
		g, _ := guard.Find(name)
		lines = append(lines, fmt.Sprintf("%s: %s Known to get through: %s", name, g.Is, words.Sentence(g.Passes)))
	}
	return lines
}

func (p *Panel) headlines() []string {
	var all []string
	var safe []string
	var none Share
	stale := func(p *Point) Share { return p.Stale }
	lost := func(p *Point) Share { return p.Lost }
	for i := range p.Curves {
		c := &p.Curves[i]
		if c.Trials() == 0 {
			continue
		}
		if c.Promises() {
			safe = append(safe, c.Name())
			s := c.sum(stale, p.Expires[1], math.Inf(1))
			none = ShareOf(none.Count+s.Count, none.Of+s.Of)
			continue
		}
		s := c.sum(lost, p.Expires[1], math.Inf(1))
		if s.Of == 0 {
			continue
		}
		who := "With " + c.Name()
		if c.Name() == guard.None {
			who = "Without a guard"
		}
		text := fmt.Sprintf("%s, %s: %s of the %s lose an update", who, p.Title, s, p.beyond())
		if at, ok := c.Threshold(); ok {
			text += fmt.Sprintf("; half of them make two clients believe at once from %.2f T on", at)
		}
		all = append(all, text+".")
	}
	if len(safe) > 0 && none.Of > 0 {
		all = append(all, fmt.Sprintf("%s: %s let %d outdated accesses through in %d %s, which is at most %s.", p.Title,
			joined(safe), none.Count, none.Of, p.beyond(), percent(none.High)))
	}
	return all
}

// beyond names the faults after which the session has expired, by prediction.
func (p *Panel) beyond() string { return fmt.Sprintf("%s of %.2f T and more", p.Faults, p.Expires[1]) }

// joined lists names as a sentence does.
func joined(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// Missing estimates how many trials the point still needs: until its intervals are narrow enough if its shares stay as
// they are, or until it has the most trials.
func (p *Point) Missing(band float64, most int) int {
	if !p.Open(band, most) {
		return 0
	}
	n := p.Trials()
	for more := max(n, 8); more < most; more += max(more/8, 1) {
		wide := false
		for _, s := range []Share{p.Believed, p.Stale, p.Lost} {
			wide = wide || ShareOf(int(math.Round(s.Estimate()*float64(more))), more).Width() > band
		}
		if !wide {
			return more - n
		}
	}
	return most - n
}

// A Share is how many of several trials had an outcome, with the 95 % interval of its probability by Wilson's score
// (Wilson, 1927), which is right for shares near 0 and 1 too. Without trials it is the whole of 0 to 1.
type Share struct {
	Count int     `json:"count"`
	Of    int     `json:"of"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// z is the quantile of the normal distribution for 95 %.
const z = 1.959964

// ShareOf returns the share of count in n trials.
func ShareOf(count, n int) Share {
	s := Share{Count: count, Of: n, High: 1}
	if n == 0 {
		return s
	}
	p, m := s.Estimate(), float64(n)
	middle := (p + z*z/(2*m)) / (1 + z*z/m)
	half := z / (1 + z*z/m) * math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	s.Low, s.High = max(0, middle-half), min(1, middle+half)
	if count == 0 {
		s.Low = 0 // not a rounding error
	}
	if count == n {
		s.High = 1
	}
	return s
}

// Estimate is the share itself; 0 without trials.
func (s Share) Estimate() float64 {
	if s.Of == 0 {
		return 0
	}
	return float64(s.Count) / float64(s.Of)
}

// Width is the width of the interval.
func (s Share) Width() float64 { return s.High - s.Low }

// String writes the share in per cent: of none only the upper end of the interval.
func (s Share) String() string {
	switch {
	case s.Of == 0:
		return "n/a"
	case s.Count == 0:
		return fmt.Sprintf("0 (≤ %s)", percent(s.High))
	}
	return fmt.Sprintf("%s (%s–%s)", percent(s.Estimate()), percent(s.Low), percent(s.High))
}

// percent writes an estimate or an end of its interval, which deserve two digits where [words.Share] has three.
func percent(v float64) string {
	digits, rare := 0, 100*min(v, 1-v)
	switch {
	case rare <= 0:
	case rare < 0.0995:
		digits = int(math.Ceil(-math.Log10(rare)))
	case v < 0.0995, rare < 0.995:
		digits = 1
	}
	return fmt.Sprintf("%.*f %%", digits, 100*v)
}
