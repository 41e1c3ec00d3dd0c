package capacity

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// coarse sets what short windows say, and returns the load of the next one; 0 if there is none. It is over once full
// windows are measured, unless one of these loads holds that short windows exclude, because something else disturbed
// them. Then they go on from there: the limit may be many times as high.
func (st *state) coarse(short map[float64][]Trial) float64 {
	least, most := st.bounds()
	holds, wrong := st.holds(), false
	var again []float64
	for _, x := range slices.Sorted(maps.Keys(short)) {
		switch c := coarseClass(short[x]); c {
		case barred, upper:
			if x <= holds {
				wrong = true
				continue
			}
			st.barred[x] = c == barred
			st.excluded = append(st.excluded, x)
		case lower:
			st.allowed = append(st.allowed, x)
		default:
			again = append(again, x)
		}
	}
	if len(st.excluded) > 0 {
		st.out = st.excluded[0]
	}
	for _, x := range st.allowed {
		if st.out == 0 || x < st.out {
			st.held = x
		}
	}
	if x := st.warm(short); x != 0 && len(st.full) == 0 {
		return x
	}
	if wrong {
		st.held = max(st.held, holds)
		for x, t := range st.full {
			if c := t.class(); (c == upper || c == barred) && x > holds && (st.out == 0 || x < st.out) {
				st.out = x
			}
		}
	}
	switch {
	case len(st.full) > 0 && !wrong:
		return 0
	case len(st.trials) == 0:
		return min(max(st.load(cmp.Or(st.Start, 16)), least), most)
	case len(again) > 0:
		return again[0]
	case st.out == 0 && st.held >= most, st.held == 0 && st.out <= least:
		return 0
	case st.out == 0:
		return st.apart(min(2*st.held, most), short)
	case st.held == 0:
		return st.apart(max(st.out/2, least), short)
	case st.out > st.held*(1+2*st.width()):
		return st.apart(math.Sqrt(st.held*st.out), short)
	}
	return 0
}

// holds is the hardest load of which full windows say that it holds; 0 = none.
func (st *state) holds() (hardest float64) {
	for x, t := range st.full {
		if t.class() == lower {
			hardest = max(hardest, x)
		}
	}
	return hardest
}

// warm counts the windows that were spent on servers that were not steady, and returns the load that is to be measured
// again for that reason; 0 if there is none. What servers can do at most, which the first bad level shows, no longer
// rises when they are steady.
func (st *state) warm(short map[float64][]Trial) float64 {
	seen := map[float64]bool{}
	for _, t := range st.trials {
		x := st.load(t.Level)
		if t.Kind != Short || t.Reason == Holds || !t.counts() || seen[x] {
			continue
		}
		seen[x] = true
		n, steady := coldness(short[x])
		st.cold += n
		if coarseClass(short[x]) == lower {
			continue // it was bad only because the servers were cold, or by chance
		}
		if st.steady = steady; steady || st.cold >= MostCold {
			return 0
		}
		return x
	}
	return 0
}

// apart returns a load as a level has it; 0 if that level was measured.
func (st *state) apart(load float64, short map[float64][]Trial) float64 {
	x := st.load(st.level(load))
	if _, known := short[x]; known {
		return 0
	}
	return x
}

// coarseClass is what the short windows of a level say: the last one if it is good, else the last two.
func coarseClass(all []Trial) class {
	bad, void := 0, 0
	for _, t := range slices.Backward(all) {
		switch {
		case t.Reason == Holds && bad == 0:
			return lower
		case t.Reason == Holds:
			return undecided
		case t.Reason == Void:
			if void++; void >= mostVoid {
				return barred
			}
		case t.counts():
			if bad++; bad >= 2 {
				return upper
			}
		}
	}
	return undecided
}

// coldness returns how many windows of a bad level were measured, and whether their throughput has stopped rising.
func coldness(all []Trial) (n int, steady bool) {
	var rates []float64
	for _, t := range all {
		if !t.counts() {
			continue
		}
		n++
		if t.PerS == nil {
			return n, true // there is nothing to judge by
		}
		rates = append(rates, *t.PerS)
	}
	return n, Steady(rates)
}

// Steady reports whether servers under a load that is too high are warm, by the throughput of windows in their order:
// that of the last one is no longer higher than those before it.
func Steady(perS []float64) bool {
	last := len(perS) - 1
	return last > 0 && perS[last] <= slices.Max(perS[:last])*(1+steadySlope)
}
