package advice

import (
	"fmt"
	"math"
	"slices"
	"time"

	"locklab/harness/check/evidence"
	"locklab/reports/words"
	"locklab/workloads/guard"
)

// Advice is what follows from the pauses for each session timeout, and which of them costs least.
type Advice struct {
	Pauses  Input    `json:"pauses"`
	Options []Option `json:"options"` // the shortest timeout first
	// Guard is the guard that was asked about; Choices has every guard's best timeout.
	Guard   string            `json:"guard"`
	Choices map[string]Choice `json:"choices"`
	// Undecided says why the pauses cannot carry a choice with Guard; empty if they can. NeededNs is about how long the
	// logs of one process would have to be, or those of several together.
	Undecided string `json:"undecided"`
	NeededNs  int64  `json:"needed_ns,omitempty"`

	Method   []string `json:"method"`
	Warnings []string `json:"warnings"`

	cfg Config
}

// An Input is what is known of the pauses.
type Input struct {
	Source    string  `json:"source"`
	What      string  `json:"what"`
	Count     float64 `json:"count"`
	SpanNs    int64   `json:"span_ns"`
	LongestNs int64   `json:"longest_ns"`
}

// An Option is a session timeout and what it brings.
type Option struct {
	TimeoutNs int64 `json:"timeout_ns"`
	// After EarliestNs of silence a session may expire, and after LatestNs it has expired.
	EarliestNs int64 `json:"earliest_expiry_ns"`
	LatestNs   int64 `json:"latest_expiry_ns"`
	// LongPauses is how many pauses of the input could end a session.
	LongPauses float64 `json:"long_pauses"`
	// FalseExpiries are sessions that expire although their clients live, of all clients together.
	FalseExpiries Rate `json:"false_expiries"`
	// DoubleHolds are, by guard, the holds that a client goes on using after another client can have got the lock. A
	// guard that cannot be used with the timeout has none.
	DoubleHolds map[string]Rate `json:"double_holds"`
	// WithoutProgress is how long nobody gets the lock after its holder has crashed.
	WithoutProgress Spread `json:"without_progress"`
	// CostSAYear is the cost by guard, in seconds without progress a year.
	CostSAYear map[string]float64 `json:"cost_s_a_year"`
}

// A Spread is a time between two limits.
type Spread struct {
	LeastNs int64 `json:"least_ns"`
	MeanNs  int64 `json:"mean_ns"`
	MostNs  int64 `json:"most_ns"`
}

// A Choice is the timeout that costs least with a guard. LowNs and HighNs are those that would if all rates were at the
// lower and at the upper ends of their intervals.
type Choice struct {
	TimeoutNs int64 `json:"timeout_ns"`
	LowNs     int64 `json:"at_low_ns"`
	HighNs    int64 `json:"at_high_ns"`
}

// Advise computes what each session timeout brings. The error of bad input is a [*scenario.InputError].
func Advise(p Pauses, cfg Config) (*Advice, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	a := &Advice{
		Pauses: Input{Source: p.Source, What: p.What, Count: p.Count(), SpanNs: int64(p.Span),
			LongestNs: int64(p.Longest())},
		Guard: cfg.Guard, Choices: map[string]Choice{}, Warnings: append([]string{}, p.Notes...), cfg: cfg,
	}
	for _, timeout := range cfg.Timeouts {
		a.Options = append(a.Options, a.option(&p, timeout))
	}
	for _, g := range guard.All {
		if best, ok := a.best(g, Rate.estimate); ok {
			low, _ := a.best(g, Rate.low)
			high, _ := a.best(g, Rate.high)
			a.Choices[g.Name] = Choice{best.TimeoutNs, low.TimeoutNs, high.TimeoutNs}
		}
	}
	a.Undecided, a.NeededNs = a.undecided(&p)
	a.Method = a.method()
	a.warn(&p)
	return a, nil
}

// mostApart is by which factor the choices at both ends of the intervals may differ for the input to carry a choice.
const mostApart = 2

// undecided says why the pauses do not carry a choice, and about how long logs would have to be that do; empty if they
// carry it:
//
//   - They cover a day, because load has the rhythm of a day.
//   - The choices at the lower and at the upper ends of the intervals differ by a factor of two at most. If not, about
//     sixteen long pauses would do.
//   - If the input has no pause that could end a session with the chosen timeout, what is possible all the same (95 %)
//     must not be more, for each client, than the crashes that are counted on. That limit falls with the length of the
//     input.
func (a *Advice) undecided(p *Pauses) (why string, needed int64) {
	need := func(times float64) int64 {
		return int64(max(times*p.Span.Seconds(), shortSpan.Seconds()) * float64(time.Second))
	}
	c, o := a.Choices[a.Guard], a.chosen(a.Guard)
	possible, bearable := o.FalseExpiries.High/float64(a.cfg.Clients), max(a.cfg.CrashesAYear, 1)
	switch {
	case o.FalseExpiries.Unseen && possible > bearable:
		return fmt.Sprintf("it has no pause that could end a session of %s, and %s false expiries a year of each client are "+
				"possible all the same, more than the %s crashes that are counted on", words.Duration(o.TimeoutNs),
				yearly(possible), words.Digits3(bearable)),
			need(possible / bearable)
	case c.HighNs > mostApart*c.LowNs:
		seen := 1.0
		for i := range a.Options {
			if a.Options[i].TimeoutNs == c.LowNs {
				seen = max(seen, a.Options[i].LongPauses)
			}
		}
		return fmt.Sprintf("its intervals allow %s as well as %s", words.Duration(c.LowNs), words.Duration(c.HighNs)),
			need(fewPauses / seen)
	case p.Span < shortSpan:
		return fmt.Sprintf("it covers only %s, less than a day", words.Duration(int64(p.Span))), need(1)
	}
	return "", 0
}

func (a *Advice) option(p *Pauses, timeout time.Duration) Option {
	h, e := a.cfg.harmAt(timeout), evidence.Expiry{Timeout: timeout, Tick: a.cfg.Tick}
	handOff := int64(a.cfg.HandOff)
	o := Option{
		TimeoutNs: int64(timeout), EarliestNs: int64(e.Earliest()), LatestNs: int64(e.Latest()),
		FalseExpiries: a.rate(p, h, h.expires),
		DoubleHolds:   map[string]Rate{},
		WithoutProgress: Spread{int64(e.Earliest()) + handOff,
			int64(h.expiry.mean*float64(time.Second)) + handOff, int64(e.Latest()) + handOff},
		CostSAYear: map[string]float64{},
	}
	for _, l := range p.Lengths {
		if h.expires(l.Of.Seconds()) > 0 {
			o.LongPauses += l.Count
		}
	}
	for _, g := range guard.All {
		if usable(g, timeout, a.cfg.Tick) {
			o.DoubleHolds[g.Name] = a.rate(p, h, func(s float64) float64 { return h.doubleHold(g, s) })
			o.CostSAYear[g.Name] = a.cost(&o, g, Rate.estimate)
		}
	}
	return o
}

// rate returns how often a year pauses do harm that have these weights by length, of all clients together.
func (a *Advice) rate(p *Pauses, h harm, weight func(seconds float64) float64) Rate {
	factor := float64(a.cfg.Clients) * float64(Year) / float64(p.Span)
	sum, squares := 0.0, 0.0
	for _, l := range p.Lengths {
		if s := l.Of.Seconds(); s > h.expiry.lo-h.back {
			w := weight(s)
			sum += l.Count * w
			squares += l.Count * w * w
		}
	}
	most := weight(h.expiry.hi)
	r := weightedRate(sum, squares, most, factor)
	// A session lives until its client has been silent for long enough, so there is a limit however short the input is.
	possible := most * float64(a.cfg.Clients) * Year.Seconds() / h.expiry.lo
	r.AYear, r.Low, r.High = min(r.AYear, possible), min(r.Low, possible), min(r.High, possible)
	return r
}

func (r Rate) estimate() float64 { return r.AYear }
func (r Rate) low() float64      { return r.Low }
func (r Rate) high() float64     { return r.High }

// cost returns what a timeout costs with a guard, in seconds without progress a year.
func (a *Advice) cost(o *Option, g guard.Guard, of func(Rate) float64) float64 {
	return of(o.DoubleHolds[g.Name])*a.cfg.DoubleHoldCost.Seconds() +
		of(o.FalseExpiries)*a.cfg.ExpiryCost.Seconds() +
		a.cfg.CrashesAYear*time.Duration(o.WithoutProgress.MeanNs).Seconds()
}

// best returns the option that costs least with a guard, the shortest of several; false if the guard cannot be used.
func (a *Advice) best(g guard.Guard, of func(Rate) float64) (best *Option, ok bool) {
	least := math.Inf(1)
	for i := range a.Options {
		o := &a.Options[i]
		if _, usable := o.DoubleHolds[g.Name]; !usable {
			continue
		}
		if cost := a.cost(o, g, of); cost < least {
			best, least = o, cost
		}
	}
	return best, best != nil
}

// chosen returns the option that is recommended for a guard.
func (a *Advice) chosen(name string) *Option {
	choice := a.Choices[name]
	i := slices.IndexFunc(a.Options, func(o Option) bool { return o.TimeoutNs == choice.TimeoutNs })
	return &a.Options[i]
}

// shortSpan is how long an input should be at least for rates a year.
const shortSpan = 24 * time.Hour

// fewPauses is how many pauses make an estimate that is good to about a half.
const fewPauses = 16

func (a *Advice) warn(p *Pauses) {
	longest := int64(p.Longest())
	o := a.chosen(a.Guard)
	if p.Span < shortSpan {
		a.Warnings = append(a.Warnings, fmt.Sprintf("the input covers only %s, so pauses that are rarer than that are not "+
			"in it; give logs of days", words.Duration(int64(p.Span))))
	}
	if slices.ContainsFunc(a.Options, func(o Option) bool { return o.FalseExpiries.Unseen }) {
		a.Warnings = append(a.Warnings, fmt.Sprintf("where a rate is given as at most (≤), no pause of the input "+
			"(longest %s) could end a session: the limit is 3 events in the input's time (95 %%), and nothing was "+
			"extrapolated", words.Duration(longest)))
	}
	if n := o.LongPauses; n > 0 && n < fewPauses {
		a.Warnings = append(a.Warnings, fmt.Sprintf("the rates at %s rest on %s; see their intervals",
			words.Duration(o.TimeoutNs), words.Count(int64(math.Ceil(n)), "pause")))
	}
	if o.FalseExpiries.Unseen {
		a.Warnings = append(a.Warnings, fmt.Sprintf("%s is the shortest timeout that outlasts every pause of the input; "+
			"the input does not tell how much longer pauses can be", words.Duration(o.TimeoutNs)))
	}
}
