package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"locklab/reports/measure"
	"locklab/reports/result"
	"locklab/reports/words"
)

// judgeMetric returns a metric's line with its numbers. A line that has no verdict is for judge.
//
// The runs of pairs are in the same order on both sides. Where one run of a pair lacks the number, the line's numbers
// hold whatever it would have been.
func judgeMetric(q result.Quantity, base, head Side, paired bool, alpha float64) Line {
	m := q.Compared
	l := Line{Name: q.Name(), Unit: q.Bench(), Gates: m.Gates, Difference: m.Difference, Tolerance: m.Tolerance,
		quantity: q}
	b, bad := valuesOf(q, base, paired)
	h, bad2 := valuesOf(q, head, paired)
	bad = cmp.Or(bad, bad2)
	if v, ok := medianOf(b); ok {
		l.BaseMedian = &v
		if v > 0 && !m.Difference {
			l.Tolerance = max(l.Tolerance, m.Resolution/v)
		}
	}
	if v, ok := medianOf(h); ok {
		l.HeadMedian = &v
	}
	if l.BaseMedian == nil && l.HeadMedian == nil {
		l.Verdict, l.Reason = NotMeasured, "no run has it"
		return l
	}
	unknown := 0
	test, least, estimate := pValue, leastP(len(b), len(h)), change
	if paired {
		b, h, unknown = known(b, h, m.Difference)
		test, least, estimate = withUnknownP(unknown), leastSignedP(len(b)), withUnknownChange(unknown)
	}
	if bad != "" && unknown == 0 {
		l.Verdict, l.Reason = Inconclusive, bad
		return l
	}
	l.least, l.constant = least, unknown == 0 && constant(b, h)
	i, ok := estimate(b, h, m.Difference, alpha)
	switch {
	case ok:
		l.Change, l.missing = &i, bad
		p := l.beyond(i, b, h, test)
		l.P = &p
	case bad != "":
		l.Verdict, l.Reason = Inconclusive, bad
	default:
		l.Verdict, l.Reason = Inconclusive, fmt.Sprintf("%d against %d runs cannot show a difference", len(b), len(h))
	}
	return l
}

// medianOf returns the median of the values that are known, if any is.
func medianOf(x []float64) (float64, bool) {
	x = slices.DeleteFunc(slices.Clone(x), math.IsNaN)
	if len(x) == 0 {
		return 0, false
	}
	return measure.Median(x), true
}

// valuesOf returns the quantity of each run, NaN where it has none, and what is wrong with them; "" if nothing is. A
// run of a pair has none if it is unsettled.
func valuesOf(q result.Quantity, s Side, paired bool) (x []float64, bad string) {
	for i := range s.Runs {
		v := math.NaN()
		if paired && s.Runs[i].unsettled() {
			x, bad = append(x, v), s.Runs[i].unusable()
			continue
		}
		if has := q.Sample(&s.Runs[i].Result); has != nil {
			v = *has
		}
		switch {
		case math.IsNaN(v):
			bad = fmt.Sprintf("%s has none", s.Runs[i].Name)
		case v == 0 && !q.Compared.Difference:
			bad = fmt.Sprintf("it is 0 in %s, and nothing has a ratio to 0", s.Runs[i].Name)
		}
		x = append(x, v)
	}
	return x, bad
}

// constant reports whether all values are the same. Then the metric cannot differ, whichever runs are on which side,
// and need not cost the others significance (Tarone 1990).
func constant(sides ...[]float64) bool {
	for _, side := range sides {
		for _, v := range side {
			if v != sides[0][0] {
				return false
			}
		}
	}
	return true
}

// beyond returns the p of the hypothesis that the change is within the tolerance, either way: that of the two-sided
// test after the samples of the head have been brought back by what is tolerated. It is 1 if the estimate itself is
// within.
func (l *Line) beyond(i Interval, base, head []float64, test func(base, head []float64, _ bool) float64) float64 {
	worst, best := l.limits()
	to := worst
	if lost, _, _ := loss(l.quantity, i); lost < 0 {
		to = best
	}
	if d := l.quantity.Compared.Difference; d && (i.Estimate-to)*to <= 0 || !d && (i.Estimate-to)*(to-1) <= 0 {
		return 1
	}
	back := make([]float64, len(head))
	for k, v := range head {
		if back[k] = v / to; l.Difference {
			back[k] = v - to
		}
	}
	return test(base, back, l.Difference)
}

// limits returns the changes, as ratios or differences, whose loss and whose gain are just what is tolerated.
func (l *Line) limits() (worst, best float64) {
	switch lower := l.quantity.Better == result.Lower; {
	case l.Difference && lower:
		return l.Tolerance, -l.Tolerance
	case l.Difference:
		return -l.Tolerance, l.Tolerance
	case lower:
		return 1 + l.Tolerance, 1 / (1 + l.Tolerance)
	}
	return 1 / (1 + l.Tolerance), 1 + l.Tolerance
}

// judge gives a verdict to each line that has none. The p values of the lines that gate are adjusted for their
// number, and must be below alpha. The others are judged one by one, and nothing depends on them. A metric that was
// asked for by name must have been measured.
func judge(lines []Line, asked bool, alpha float64) {
	var family []int
	var p []float64
	for i := range lines {
		if lines[i].Gates && lines[i].P != nil && !lines[i].constant {
			family = append(family, i)
			p = append(p, *lines[i].P)
		}
	}
	for k, adjusted := range holm(p) {
		lines[family[k]].PAdjusted = &adjusted
	}
	for i := range lines {
		l := &lines[i]
		if l.Verdict == NotMeasured && l.Gates && asked {
			l.Verdict, l.Reason = Inconclusive, "it was asked for, and no run has it"
		}
		if l.Verdict == "" {
			l.judge(len(family), alpha)
		}
	}
}

// judge judges one metric; family is how many gate. The interval of a loss or gain whose p is below alpha is outside
// the tolerance, because its confidence is lower than 1-alpha.
func (l *Line) judge(family int, alpha float64) {
	p := *l.P
	if l.PAdjusted != nil {
		p = *l.PAdjusted
	}
	lost, least, most := loss(l.quantity, *l.Change)
	switch significant := p < alpha; {
	case significant && lost > 0:
		l.Verdict, l.Reason = Regressed, l.describe()
	case significant:
		l.Verdict, l.Reason = Improved, l.describe()
	case most <= l.Tolerance:
		l.Verdict, l.Reason = Pass, l.describe()
	default:
		l.Verdict = Inconclusive
		l.Reason = fmt.Sprintf("anything from %s to %s is possible, and %s is tolerated; take more runs, longer ones, "+
			"or a quieter machine",
			worse(least), worse(most), words.Share(l.Tolerance))
		if l.PAdjusted != nil && l.least*float64(family) > alpha {
			l.Reason += "; so few runs cannot show that any of so many metrics differs"
		}
	}
}
