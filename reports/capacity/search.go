package capacity

import (
	"cmp"
	"fmt"
	"math"
)

// A Reason says why a rate does not hold.
type Reason string

// The reasons. Holds means that there is none.
const (
	Holds      Reason = ""
	Missed     Reason = "threshold" // a limit was missed
	Dropped    Reason = "drops"     // arrivals found no idle client
	NotReached Reason = "rate"      // fewer were done than arrived, so the backlog grows
	Undecided  Reason = "unknown"   // the probe does not say whether the rate holds
	Void       Reason = "void"      // the load side was the limit, so the probe says nothing about the servers
	Violation  Reason = "violation" // the lock was unsafe, so no rate counts
)

// A Probe is the result of trying a rate once.
type Probe struct {
	Rate   float64 `json:"rate"`
	Reason Reason  `json:"reason"` // empty if it held
	Detail string  `json:"detail"` // with numbers
}

// A Search looks for the highest rate that holds. It doubles the rate until one does not hold, and halves the
// interval until it is small. Then it probes both sides again, because a probe near the boundary passes or fails by
// chance. The majority of a rate's probes counts, and a rate whose majority changes reopens the search.
type Search struct {
	Start float64 // the first rate; 0 = 16
}

// The bounds of a search.
const (
	leastRate = 0.1
	mostRate  = 1e6
	// precision is the share by which the rates on both sides of the boundary may differ in the end.
	precision = 0.02
	// votes is the number of probes of which more than half decide a side of the boundary.
	votes      = 3
	mostProbes = 60
)

// A Limit is the result of a search. LastPass and FirstFail are null if there is no such rate.
type Limit struct {
	LastPass  *float64 `json:"last_pass"`
	FirstFail *float64 `json:"first_fail"`
	// Why and Detail say why a probe at FirstFail failed.
	Why    Reason `json:"why"`
	Detail string `json:"detail"`
	// AtLeast says that LastPass is only what could be asked for: at the next rate the load side was the limit, for the
	// reason in Detail. FirstFail is null then.
	AtLeast bool `json:"at_least"`
	// Unknown says why there is no answer; empty if there is one.
	Unknown string  `json:"unknown"`
	Probes  []Probe `json:"probes"`
}

// side counts the probes at a rate by their results.
type side struct {
	rate          float64
	passes, fails int
	unknown       int // the last ones in a row
	void          int // likewise
}

func (v side) tied() bool   { return v.passes == v.fails }
func (v side) passed() bool { return v.passes > v.fails }

// decided reports whether the remaining probes cannot change the majority.
func (v side) decided() bool { return 2*max(v.passes, v.fails) > votes }

// barred reports whether the load side cannot ask for the rate.
func (v side) barred() bool { return v.void >= maxUndecided }

// sides counts the probes by rate.
func sides(probes []Probe) map[float64]side {
	all := map[float64]side{}
	for _, p := range probes {
		v := all[p.Rate]
		v.rate = p.Rate
		switch p.Reason {
		case Holds:
			v.passes, v.unknown, v.void = v.passes+1, 0, 0
		case Undecided:
			v.unknown++
		case Void:
			// One may be chance. More in a row are as good as a failure for where to look next.
			if v.void++; v.barred() {
				v.fails = max(v.fails, votes, v.passes+1)
			}
		default:
			v.fails, v.unknown, v.void = v.fails+1, 0, 0
		}
		all[p.Rate] = v
	}
	return all
}

// bracket returns the lowest rate that failed, and the highest rate below it that passed. Their rate is 0 if there is
// none.
func bracket(all map[float64]side) (pass, fail side) {
	for _, v := range all {
		if !v.tied() && !v.passed() && (fail.rate == 0 || v.rate < fail.rate) {
			fail = v
		}
	}
	for _, v := range all {
		if v.passed() && v.rate > pass.rate && (fail.rate == 0 || v.rate < fail.rate) {
			pass = v
		}
	}
	return pass, fail
}

// wide is the ratio of the two sides from which on a failed probe is repeated at once, because a wrong one would cost
// many others.
const wide = 1.5

// maxUndecided is how often in a row the probes of a rate may be undecided.
const maxUndecided = 2

// maxBarred is how many rates the load side may be unable to ask for until the search ends, if no rate has held.
const maxBarred = 3

// Next returns the rate to probe next; false if there is nothing left to probe. It depends on the probes alone, so a
// search can continue where it was interrupted.
func (s Search) Next(probes []Probe) (float64, bool) {
	if len(probes) == 0 {
		return min(max(cmp.Or(s.Start, 16), leastRate), mostRate), true
	}
	if stuck(probes) != "" {
		return 0, false
	}
	all := sides(probes)
	if last := all[probes[len(probes)-1].Rate]; last.tied() {
		return last.rate, true
	}
	pass, fail := bracket(all)
	switch {
	case fail.rate == 0 && pass.rate >= mostRate:
		return mostRate, !pass.decided()
	case fail.rate == 0:
		return min(round(2*pass.rate), mostRate), true
	case fail.fails == 1 && fail.rate > pass.rate*wide:
		return fail.rate, true
	case pass.rate == 0 && fail.rate <= leastRate:
		return leastRate, !fail.decided()
	case pass.rate == 0:
		return max(round(fail.rate/2), leastRate), true
	}
	if middle := round(math.Sqrt(pass.rate * fail.rate)); fail.rate > pass.rate*(1+precision) && middle > pass.rate &&
		middle < fail.rate {
		return middle, true
	}
	if !fail.decided() {
		return fail.rate, true
	}
	return pass.rate, !pass.decided()
}

// round gives a rate four digits, as a person would write it.
func round(rate float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(rate))-3)
	if unit >= 1 {
		return math.Round(rate/unit) * unit
	}
	per := math.Round(1 / unit) // 1/unit is exact, unit is not
	return math.Round(rate*per) / per
}

// stuck says why the search cannot continue; empty if it can.
func stuck(probes []Probe) string {
	if len(probes) == 0 {
		return ""
	}
	last := probes[len(probes)-1]
	all := sides(probes)
	barred := 0
	for _, v := range all {
		if v.barred() {
			barred++
		}
	}
	switch pass, _ := bracket(all); {
	case last.Reason == Violation:
		return "at a rate of " + plain(last.Rate) + ": " + last.Detail
	case pass.rate == 0 && barred >= maxBarred:
		return fmt.Sprintf("no rate held, and the load side was the limit at %d of them: %s", barred, last.Detail)
	case all[last.Rate].unknown >= maxUndecided:
		return fmt.Sprintf("a rate of %s was undecided %d times in a row: %s", plain(last.Rate), maxUndecided, last.Detail)
	case len(probes) >= mostProbes:
		return fmt.Sprintf("%d probes did not decide it", len(probes))
	}
	return ""
}

// Limit returns what the probes say so far. It is the answer if Next has no rate left.
func (s Search) Limit(probes []Probe) Limit {
	l := Limit{Probes: probes, Unknown: stuck(probes)}
	if l.Unknown == "" {
		if _, more := s.Next(probes); more {
			l.Unknown = "the search is not over"
		}
	}
	pass, fail := bracket(sides(probes))
	if pass.rate > 0 {
		l.LastPass = &pass.rate
	}
	if fail.rate == 0 {
		return l
	}
	for _, p := range probes {
		if p.Rate == fail.rate && p.Reason != Holds && p.Reason != Undecided {
			l.Why, l.Detail = p.Reason, p.Detail
		}
	}
	switch {
	case !fail.barred():
		l.FirstFail = &fail.rate
	case l.LastPass != nil:
		l.AtLeast = true
	case l.Unknown == "":
		l.Unknown = "no rate held, and the load side was the limit: " + l.Detail
	}
	return l
}
