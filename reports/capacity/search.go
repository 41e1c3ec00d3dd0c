package capacity

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
)

// A Search looks for the highest level of a load that holds, by RFC 9971 (Multiple Loss Ratio search), where a rate is
// called a level because numbers of clients and of locks are searched for too:
//
//   - Short windows double the level until one is bad, and halve the interval. The first bad level is measured until
//     its throughput no longer rises, because the servers may only have been cold. Short windows exclude levels and
//     decide nothing.
//   - Full windows decide: a level is a lower bound, an upper bound, or undecided and measured again. Both bounds that
//     are told rest on at least five full windows.
//   - A lower bound is the answer only if the bound holds again after a disturbance.
//   - What holds with one server away is searched for below the answer.
//
// A Search knows nothing of how a window is measured. It is immutable.
type Search struct {
	Start float64 `json:"start"` // the first level; 0 = 16
	// Least and Most bound the levels; 0 = 0.1 and a million.
	Least float64 `json:"least,omitempty"`
	Most  float64 `json:"most,omitempty"`
	// Ceiling is the highest level that the load generator can ask for, measured without the system; 0 = not known. It is
	// the highest level if Most is 0, and a limit above 80 % of it is only what could be asked for.
	Ceiling float64 `json:"ceiling,omitempty"`
	// Whole says that levels are whole numbers, and Fewest that less is harder, so that the least level is searched for.
	Whole  bool `json:"whole,omitempty"`
	Fewest bool `json:"fewest,omitempty"`
	// Width is the goal width: by which share the two bounds may differ in the end; 0 = 0.05.
	Width float64 `json:"width,omitempty"`
	// Disturb says that the answer must come back after a disturbance, and Away that the limit with one server away is
	// searched for too.
	Disturb bool `json:"disturb,omitempty"`
	Away    bool `json:"away,omitempty"`
	// Planned is a level of which full windows are wanted besides, for its headroom; 0 = none.
	Planned float64 `json:"planned,omitempty"`
	// BudgetS is how many seconds all trials together may take; 0 = as many as it takes.
	BudgetS float64 `json:"budget_s,omitempty"`
	// CostS is how many seconds a trial of each kind is expected to take.
	CostS map[Kind]float64 `json:"cost_s,omitempty"`
}

// The bounds of a search.
const (
	leastLevel = 0.1
	mostLevel  = 1e6
	goalWidth  = 0.05
	mostTrials = 150
	// steadySlope is by which share the throughput of a bad level may still rise until the servers count as steady, and
	// MostCold how many windows are spent on that.
	steadySlope = 0.05
	MostCold    = 6
	// votes is the number of disturbed windows of which more than half decide. The first one decides if it is good.
	votes = 3
	// trusted is the share of the load generator's ceiling up to which it is not the limit itself.
	trusted = 0.8
	// awayWindows is how many windows with one server away the budget keeps back.
	awayWindows = 8
	// mostSteps is how often a step beyond a bound doubles at most: to four goal widths, because short windows have been
	// near already.
	mostSteps = 3
	// maxUndecided is how often in a row the windows of a level may be undecided.
	maxUndecided = 2
	// maxBarred is how many levels the load side may be unable to ask for until the search ends, if no level has held.
	maxBarred = 3
)

// An Ask is the trial that a search wants next.
type Ask struct {
	Level float64
	Kind  Kind
}

// load is how hard a level is.
func (s Search) load(level float64) float64 {
	if s.Fewest {
		return 1 / level
	}
	return level
}

// level is the level of a load, as a person would write it.
func (s Search) level(load float64) float64 {
	l := s.load(load) // 1/x is its own inverse
	if s.Whole {
		return max(math.Round(l), 1)
	}
	return round(l)
}

// bounds returns the easiest and the hardest load.
func (s Search) bounds() (least, most float64) {
	a, b := s.load(cmp.Or(s.Least, leastLevel)), s.load(cmp.Or(s.Most, s.Ceiling, mostLevel))
	return min(a, b), max(a, b)
}

func (s Search) width() float64 { return cmp.Or(s.Width, goalWidth) }

// round gives a level four digits.
func round(level float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(level))-3)
	if unit >= 1 {
		return math.Round(level/unit) * unit
	}
	per := math.Round(1 / unit) // 1/unit is exact, unit is not
	return math.Round(level*per) / per
}

// Next returns the trial that follows the trials so far; false if the search is over. It depends on the trials alone,
// so a search can continue where it was interrupted.
func (s Search) Next(trials []Trial) (Ask, bool) {
	whole, away := s.parts(trials)
	ask := whole.ask
	if ask.Kind == "" && away != nil && away.ask.Kind != "" {
		ask = Ask{away.ask.Level, Away}
	}
	return ask, ask.Kind != ""
}

// parts returns the state of the search and, once that is over with an answer that is to be repeated with one server
// away, of the search for what holds then; else nil. That search does not look above the answer.
func (s Search) parts(trials []Trial) (whole, away *state) {
	var of, without []Trial
	for _, t := range trials {
		if t.Kind == Away {
			t.Kind = Full
			without = append(without, t)
		} else {
			of = append(of, t)
		}
	}
	whole = s.state(of)
	if !s.Away || whole.ask.Kind != "" || whole.stuck != "" || whole.low == 0 {
		return whole, nil
	}
	sub := Search{Start: s.level(whole.low), Least: s.Least, Most: s.level(whole.low), Whole: s.Whole, Fewest: s.Fewest,
		Width: 2 * s.width(), BudgetS: s.BudgetS, CostS: map[Kind]float64{Full: s.CostS[Away]}}
	if s.Fewest {
		sub.Least, sub.Most = sub.Most, s.Most
	}
	if s.BudgetS > 0 {
		sub.BudgetS = s.BudgetS - whole.spent()
	}
	st := &state{Search: sub, trials: without, full: map[float64]*tally{}, barred: map[float64]bool{}, held: whole.low}
	for _, t := range without {
		addTo(st.full, s.load(t.Level), t.Reason)
	}
	st.bracket()
	if st.stuck = st.whyStuck(); st.stuck == "" {
		st.fine()
	}
	return whole, st
}

// A state is what the trials of a search say so far.
type state struct {
	Search
	trials []Trial
	ask    Ask    // Kind is empty if the search is over
	stuck  string // why there is no answer
	// timeout says that the budget ends the search.
	timeout bool
	// cold is how many windows were spent on servers that were not steady, and steady says that they became it.
	cold   int
	steady bool
	full   map[float64]*tally // by load
	upset  map[float64]*tally // disturbed windows, by load
	// excluded and allowed are what short windows say, ascending. out is the easiest load that they exclude, and held the
	// hardest one below it that they allow; 0 = none.
	excluded, allowed []float64
	held, out         float64
	barred            map[float64]bool // loads that the load side cannot ask for
	// low and high are the relevant bounds, as loads; 0 = none.
	low, high float64
}

func (s Search) state(trials []Trial) *state {
	st := &state{Search: s, trials: trials, full: map[float64]*tally{}, upset: map[float64]*tally{},
		barred: map[float64]bool{}}
	short := map[float64][]Trial{}
	for _, t := range trials {
		x := s.load(t.Level)
		switch t.Kind {
		case Short:
			short[x] = append(short[x], t)
		case Full:
			addTo(st.full, x, t.Reason)
		case Disturbed:
			addTo(st.upset, x, t.Reason)
		}
	}
	for x, t := range st.full {
		st.barred[x] = t.class() == barred
	}
	coarse := st.coarse(short)
	st.bracket()
	if st.stuck = st.whyStuck(); st.stuck != "" {
		return st
	}
	switch {
	case coarse != 0:
		st.want(coarse, Short)
	default:
		st.fine()
	}
	return st
}

func addTo(all map[float64]*tally, x float64, r Reason) {
	if all[x] == nil {
		all[x] = &tally{}
	}
	all[x].add(r)
}

// want asks for a trial, if the budget allows it.
func (st *state) want(load float64, kind Kind) {
	reserved := 0.0 // for what makes the answer one
	if st.Disturb && kind != Disturbed {
		reserved += st.CostS[Disturbed]
	}
	if st.Away {
		reserved += awayWindows * st.CostS[Away]
	}
	if st.unplanned() {
		reserved += st.CostS[Full]
	}
	if st.BudgetS > 0 && st.spent()+st.CostS[kind]+reserved > st.BudgetS {
		st.timeout = true
		switch {
		case kind != Disturbed && st.low > 0 && st.recovery() == undecided:
			st.ask = Ask{st.level(st.low), Disturbed} // what is known may still turn out to be no limit
		case st.unplanned() && st.spent()+st.CostS[Full] <= st.BudgetS:
			st.ask = Ask{st.Planned, Full}
		}
		return
	}
	st.ask = Ask{st.level(load), kind}
}

// unplanned reports whether nothing is known yet of the planned level.
func (st *state) unplanned() bool { return st.Planned > 0 && st.full[st.load(st.Planned)] == nil }

func (st *state) spent() (sum float64) {
	for _, t := range st.trials {
		sum += t.Seconds
	}
	return sum
}

// classOf is the class of a load by its full windows and by whether it came back from a disturbance.
func (st *state) classOf(x float64) class {
	t := st.full[x]
	if t == nil {
		return undecided
	}
	if d := st.upset[x]; d != nil && d.bad > votes/2 {
		return upper
	}
	return t.class()
}

// bracket sets the relevant bounds: the easiest upper bound, and the hardest lower bound below it.
func (st *state) bracket() {
	for x := range st.full {
		if c := st.classOf(x); (c == upper || c == barred) && (st.high == 0 || x < st.high) {
			st.high = x
		}
	}
	for x := range st.full {
		if st.classOf(x) == lower && (st.high == 0 || x < st.high) {
			st.low = max(st.low, x)
		}
	}
}

// recovery is what the disturbed windows at the lower bound say.
func (st *state) recovery() class {
	t := st.upset[st.low]
	switch {
	case !st.Disturb:
		return lower
	case t == nil:
		return undecided
	case t.good > votes/2, t.good > 0 && t.bad == 0:
		return lower
	case t.bad > votes/2:
		return upper
	case t.void >= mostVoid:
		return barred
	}
	return undecided
}

// fine asks for the next full or disturbed window.
func (st *state) fine() {
	least, most := st.bounds()
	loads := slices.Sorted(maps.Keys(st.full))
	for _, x := range loads { // what was begun is decided first
		if st.classOf(x) == undecided {
			st.want(x, Full)
			return
		}
	}
	switch {
	case len(loads) == 0:
		st.want(cmp.Or(st.held, least), Full)
		return
	case st.high == 0 && st.low >= most, st.low == 0 && st.high <= least:
	case st.high == 0:
		if x := st.step(st.low, 1, loads, least, most); x != 0 {
			st.want(x, Full)
			return
		}
	case st.low == 0:
		if x := st.step(st.high, -1, loads, least, most); x != 0 {
			st.want(x, Full)
			return
		}
	case st.high > st.low*(1+st.width()):
		if x := st.load(st.level(math.Sqrt(st.low * st.high))); x > st.low && x < st.high {
			st.want(x, Full)
			return
		}
	}
	// Both bounds get their windows in turn, so that a drift reaches both.
	short := func(x float64) bool {
		if x == 0 || st.full[x].settled() {
			return false
		}
		return x != st.high || st.upset[x] == nil
	}
	lo, hi := short(st.low), short(st.high)
	switch {
	case lo && (!hi || st.full[st.low].counted() <= st.full[st.high].counted()):
		st.want(st.low, Full)
	case hi:
		st.want(st.high, Full)
	case st.low > 0 && st.recovery() == undecided:
		st.want(st.low, Disturbed)
	case st.unplanned():
		st.want(st.load(st.Planned), Full)
	}
}

// step returns the load to try beyond a bound without a counterpart: what short windows say, or else a step that
// doubles with each load that was tried; 0 if there is none.
func (st *state) step(from float64, direction int, loads []float64, least, most float64) float64 {
	guesses := []float64{st.held, st.out}
	if direction < 0 {
		guesses = guesses[:1]
	}
	for _, guess := range guesses {
		if guess != 0 && st.full[guess] == nil && (guess-from)*float64(direction) > 0 {
			return guess
		}
	}
	by := 1 + st.width()*math.Pow(2, float64(min(len(loads), mostSteps)-1))
	if direction < 0 && st.classOf(from) == barred {
		by = 2 // what the load side can still ask for is a lower limit at best, so that it need not be found exactly
	}
	x := from * math.Pow(by, float64(direction))
	for range 40 { // until the level differs, which matters if it is a small whole number
		x = st.load(st.level(min(max(x, least), most)))
		if (x-from)*float64(direction) > 0 {
			return x
		}
		by *= 2
		x = from * math.Pow(by, float64(direction))
	}
	return 0
}

// whyStuck says why the search cannot continue; empty if it can.
func (st *state) whyStuck() string {
	if len(st.trials) == 0 {
		return ""
	}
	last := st.trials[len(st.trials)-1]
	unknown := 0
	for _, t := range slices.Backward(st.trials) {
		if t.Level != last.Level || t.Kind != last.Kind || t.Reason != Undecided {
			break
		}
		unknown++
	}
	bars := 0
	for _, is := range st.barred {
		if is {
			bars++
		}
	}
	switch {
	case last.Reason == Violation:
		return "at " + plain(last.Level) + ": " + last.Detail
	case st.held == 0 && st.low == 0 && bars >= maxBarred:
		return fmt.Sprintf("no level held, and the load side was the limit at %d of them: %s", bars, last.Detail)
	case unknown >= maxUndecided:
		return fmt.Sprintf("%s was undecided %d times in a row: %s", plain(last.Level), maxUndecided, last.Detail)
	case len(st.trials) >= mostTrials:
		return fmt.Sprintf("%d windows did not decide it", len(st.trials))
	}
	return ""
}
