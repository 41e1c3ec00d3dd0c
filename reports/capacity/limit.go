package capacity

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"locklab/reports/words"
)

// A Limit is the answer of a search. Levels are null if there is no such level.
type Limit struct {
	// Lower is the relevant lower bound of RFC 9971, the hardest level that holds: the answer. Upper is the relevant upper
	// bound, the easiest level that does not hold.
	Lower *float64 `json:"lower"`
	Upper *float64 `json:"upper"`
	// LowerWindows and UpperWindows are how many full windows they rest on.
	LowerWindows int `json:"lower_windows"`
	UpperWindows int `json:"upper_windows"`
	// Why and Detail say why a window at Upper was bad.
	Why    Reason `json:"why"`
	Detail string `json:"detail"`
	// Low and High are the interval in which the limit lies with [Confidence], the easier end first. An end is null if
	// the windows do not bound it.
	Low  *float64 `json:"low"`
	High *float64 `json:"high"`
	// ConditionalPerS is the conditional throughput: the median over the windows at Lower of what was acquired a second.
	ConditionalPerS *float64 `json:"conditional_throughput_per_s"`
	// AtLeast says that Lower is only what could be asked for: at the next level the load side was the limit, or Lower is
	// near its ceiling, as Detail says. Upper is null then.
	AtLeast bool `json:"at_least"`
	// Irregular says why the result is irregular, as RFC 9971 has it; empty if it is regular.
	Irregular string `json:"irregular"`
	// Unknown says why there is no answer; empty if there is one.
	Unknown string `json:"unknown"`
	// Recovered says whether the bound held again after a disturbance at Lower; null if that was not tried.
	Recovered *bool `json:"recovered"`
	// RecoveredNs is how long that took at most.
	RecoveredNs *int64 `json:"recovered_ns"`
	// Undisturbed is the hardest level whose full windows held, if Lower is null or easier by more than the goal width:
	// there, or below, the bound did not hold again after a disturbance. It is null if there is no such level.
	Undisturbed *float64 `json:"undisturbed"`
	// Cold is how many windows were measured until the servers were steady, and Steady says that they became it. It is
	// null if no level was bad, because then it cannot be seen.
	Cold   int   `json:"cold_windows"`
	Steady *bool `json:"steady"`
	// Away is the limit with one server away; null if it was not searched for.
	Away *Limit `json:"one_server_away"`

	Trials []Trial `json:"trials"`
}

func plain(v float64) string { return words.Digits3(v) }

// Confidence is the probability with which the limit lies in the interval of a [Limit], in repeated searches of a
// system that does not change meanwhile.
const Confidence = 0.95

// Limit returns what the trials say so far. It is the answer if Next asks for nothing more.
func (s Search) Limit(trials []Trial) Limit {
	whole, away := s.parts(trials)
	l := whole.limit()
	l.Trials = trials
	if away != nil && len(away.trials) > 0 {
		without := away.limit()
		without.Trials = []Trial{}
		l.Away = &without
	}
	return l
}

func (st *state) limit() Limit {
	l := Limit{Unknown: st.stuck, Undisturbed: st.undisturbed()}
	if l.Unknown == "" && st.ask.Kind != "" {
		l.Unknown = "the search is not over"
	}
	if st.cold > 0 {
		l.Cold, l.Steady = st.cold, new(st.steady)
	}
	if st.low > 0 {
		l.Lower, l.LowerWindows = new(st.level(st.low)), st.full[st.low].counted()
		l.ConditionalPerS = st.conditional()
		if c := st.recovery(); st.Disturb && (c == lower || c == upper) {
			l.Recovered, l.RecoveredNs = new(c == lower), st.recoveredNs()
		}
	}
	if st.high > 0 {
		for _, t := range st.trials {
			if st.load(t.Level) == st.high && t.Reason != Holds && t.Reason != Undecided {
				l.Why, l.Detail = t.Reason, t.Detail
			}
		}
		switch st.classOf(st.high) {
		case upper:
			l.Upper, l.UpperWindows = new(st.level(st.high)), st.full[st.high].counted()
		default:
			l.AtLeast = st.low > 0
			if st.low == 0 && l.Unknown == "" {
				l.Unknown = "no level held, and the load side was the limit: " + l.Detail
			}
		}
	}
	if c := st.Ceiling; c > 0 && l.Lower != nil && *l.Lower > trusted*c {
		l.AtLeast, l.Upper, l.UpperWindows, l.Why = true, nil, 0, Void
		l.Detail = fmt.Sprintf("its load generator asks for at most %s a second, and is no measure above %.0f %% of that",
			plain(c), 100*trusted)
	}
	if l.Lower == nil && st.timeout && l.Unknown == "" {
		l.Unknown = "the time was over before a level was found that holds"
		if l.Detail != "" {
			l.Unknown += "; at " + plain(*l.Upper) + ": " + l.Detail
		}
	}
	if l.Unknown != "" {
		return l
	}
	l.Low, l.High = st.interval()
	if l.AtLeast {
		l.High = nil
	}
	l.Irregular = st.irregular(&l)
	return l
}

// irregular says what keeps a result from being regular.
func (st *state) irregular(l *Limit) string {
	few := func(n int) bool { return n < windows }
	switch {
	case l.Lower == nil:
		return "no level holds"
	case l.AtLeast:
		return "the load side was the limit"
	case l.Upper == nil && !st.timeout:
		return "no level was found that does not hold"
	case st.Disturb && l.Recovered == nil:
		return "whether the bound holds again after a disturbance is not known" + st.unrecovered()
	case !st.timeout:
		return ""
	case l.Upper == nil:
		return "the time was over before a level was found that does not hold"
	case st.load(*l.Upper) > st.load(*l.Lower)*(1+st.width()) && !st.Whole:
		return fmt.Sprintf("the time was over before the bounds were within %.0f %%", 100*st.width())
	case few(l.LowerWindows) || few(l.UpperWindows) && st.upset[st.high] == nil:
		return fmt.Sprintf("the time was over before both bounds rested on %d windows", windows)
	}
	return ""
}

// unrecovered says, behind a colon, why the last disturbed window did not count; empty if there is none.
func (st *state) unrecovered() string {
	for _, t := range slices.Backward(st.trials) {
		if t.Kind == Disturbed && st.load(t.Level) == st.low && t.Reason == Void {
			return ": " + t.Detail
		}
	}
	return ""
}

// conditional returns the median of the throughputs at the lower bound.
func (st *state) conditional() *float64 {
	var all []float64
	for _, t := range st.trials {
		if t.Kind == Full && st.load(t.Level) == st.low && t.counts() && t.PerS != nil {
			all = append(all, *t.PerS)
		}
	}
	if len(all) == 0 {
		return nil
	}
	slices.Sort(all)
	return new(all[int(exceedRatio*float64(len(all)-1))])
}

// undisturbed returns [Limit.Undisturbed].
func (st *state) undisturbed() *float64 {
	most, bad := 0.0, math.Inf(1)
	for x, t := range st.full {
		if c := t.class(); c == upper || c == barred {
			bad = min(bad, x)
		}
	}
	if t := st.full[bad]; t != nil && t.class() == barred {
		return nil // a higher level may have held, had the load side been able to ask for it
	}
	for x, t := range st.full {
		if t.class() == lower && x < bad {
			most = max(most, x)
		}
	}
	if most <= st.low*(1+st.width()) {
		return nil
	}
	return new(st.level(most))
}

// recoveredNs returns the longest time that a recovery at the lower bound took.
func (st *state) recoveredNs() *int64 {
	var most *int64
	for _, t := range st.trials {
		if t.Kind == Disturbed && st.load(t.Level) == st.low && t.RecoveredNs != nil {
			if most == nil || *t.RecoveredNs > *most {
				most = t.RecoveredNs
			}
		}
	}
	return most
}

// draws is how many times windows are drawn for the interval.
const draws = 2000

// interval returns the ends of the interval, null where the windows do not bound the limit. It is a bootstrap over the
// full windows, smoothed, because five windows that are all good would have no spread: each level's share of bad
// windows is drawn with half a good and half a bad window more than were seen (Jeffreys' prior; Rubin, The Bayesian
// Bootstrap, 1981), the shares are made to rise with the load (isotonic regression), and the limit lies where they
// pass the exceed ratio. Beyond the full windows, the nearest level that short windows clearly allow or exclude is
// the end.
func (st *state) interval() (low, high *float64) {
	var loads []float64
	for x, t := range st.full {
		if t.counted() > 0 {
			loads = append(loads, x)
		}
	}
	slices.Sort(loads)
	rng := rand.New(rand.NewPCG(uint64(len(st.trials)), 1))
	below, above := make([]int, draws), make([]int, draws) // indices of the loads at the ends
	for i := range draws {
		shares, weights := make([]float64, len(loads)), make([]float64, len(loads))
		for k, x := range loads {
			t := st.full[x]
			weights[k] = t.good + t.bad + 1
			shares[k] = distuv.Beta{Alpha: t.bad + 0.5, Beta: t.good + 0.5, Src: rng}.Rand()
			if d := st.upset[x]; d != nil && d.bad > votes/2 {
				shares[k] = 1
			}
		}
		rising(shares, weights)
		above[i] = len(loads)
		for k := range slices.Backward(loads) {
			if shares[k] > exceedRatio {
				above[i] = k
			}
		}
		below[i] = above[i] - 1
	}
	slices.Sort(below)
	slices.Sort(above)
	const tail = (1 - Confidence) / 2
	clear := 1 + st.width() // short windows err about nearer levels
	from, to := below[int(tail*draws)], above[draws-1-int(tail*draws)]
	switch {
	case from >= 0:
		low = new(st.level(loads[from]))
	default:
		for _, x := range st.allowed {
			if x*clear < loads[0] {
				low = new(st.level(x))
			}
		}
	}
	switch {
	case to < len(loads):
		high = new(st.level(loads[to]))
	default:
		for _, x := range slices.Backward(st.excluded) {
			if x > loads[len(loads)-1]*clear {
				high = new(st.level(x))
			}
		}
	}
	return low, high
}

// rising makes shares rise, by pooling neighbours that do not, weighted.
func rising(shares, weights []float64) {
	type pool struct {
		share, weight float64
		n             int
	}
	var pools []pool
	for i := range shares {
		pools = append(pools, pool{shares[i], weights[i], 1})
		for len(pools) > 1 && pools[len(pools)-2].share > pools[len(pools)-1].share {
			a, b := pools[len(pools)-2], pools[len(pools)-1]
			w := a.weight + b.weight
			pools = append(pools[:len(pools)-2], pool{(a.share*a.weight + b.share*b.weight) / w, w, a.n + b.n})
		}
	}
	i := 0
	for _, p := range pools {
		for range p.n {
			shares[i] = p.share
			i++
		}
	}
}
