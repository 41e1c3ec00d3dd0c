package compare

import (
	"fmt"

	"locklab/reports/result"
)

// measure returns a metric's line with its numbers. A line that has no verdict is for judge.
//
// The runs of pairs are in the same order on both sides.
func measure(q result.Quantity, base, head Side, paired bool) Line {
	m := q.Compared
	l := Line{Name: q.Name(), Unit: q.Bench(), Gates: m.Gates, Difference: m.Difference, Floor: m.Floor, quantity: q}
	b, bad := valuesOf(q, base)
	h, bad2 := valuesOf(q, head)
	if bad == "" {
		bad = bad2
	}
	if len(b) > 0 {
		v := median(b)
		l.BaseMedian = &v
		if v > 0 && !m.Difference {
			l.Floor = max(l.Floor, m.AbsFloor/v)
		}
	}
	if len(h) > 0 {
		v := median(h)
		l.HeadMedian = &v
	}
	l.Tolerated = max(m.Tolerated, l.Floor)
	if len(b) == 0 && len(h) == 0 {
		l.Verdict, l.Reason = NotMeasured, "no run has it"
		return l
	}
	if bad != "" {
		l.Verdict, l.Reason = Inconclusive, bad
		return l
	}
	p, least, estimate := pValue(b, h), leastP(len(b), len(h)), change
	if paired {
		p, least, estimate = pairedP(b, h, m.Difference), leastSignedP(len(b)), pairedChange
	}
	l.P, l.least = &p, least
	l.constant = constant(b, h)
	if i, ok := estimate(b, h, m.Difference); ok {
		l.Change = &i
	} else {
		l.Verdict, l.Reason = Inconclusive, fmt.Sprintf("%d against %d runs cannot show a difference", len(b), len(h))
	}
	return l
}

// valuesOf returns the quantity of each run, and what is wrong with them; "" if nothing is.
func valuesOf(q result.Quantity, s Side) (x []float64, bad string) {
	for i := range s.Runs {
		v := q.Value(&s.Runs[i].Result)
		switch {
		case v == nil:
			bad = fmt.Sprintf("%s has none", s.Runs[i].Name)
			continue
		case *v == 0 && !q.Compared.Difference:
			bad = fmt.Sprintf("it is 0 in %s, and nothing has a ratio to 0", s.Runs[i].Name)
		}
		x = append(x, *v)
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

// judge gives a verdict to each line that has none. The p values of the lines that gate are adjusted for their
// number. The others are judged one by one, and nothing depends on them. A metric that was asked for by name must
// have been measured.
func judge(lines []Line, asked bool) {
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
			l.judge(len(family))
		}
	}
}

// judge judges one metric; family is how many gate.
func (l *Line) judge(family int) {
	p := *l.P
	if l.PAdjusted != nil {
		p = *l.PAdjusted
	}
	lost, least, most := loss(l.quantity, *l.Change)
	significant := p < falseAlarms
	switch {
	case significant && lost > l.Floor:
		l.Verdict, l.Reason = Regressed, l.describe()
	case significant && gain(l.quantity, lost) > l.Floor:
		l.Verdict, l.Reason = Improved, l.describe()
	case most <= l.Tolerated:
		l.Verdict, l.Reason = Pass, l.describe()
	default:
		l.Verdict = Inconclusive
		l.Reason = fmt.Sprintf("anything from %s to %s is possible, and %s would matter; take more runs, longer ones, "+
			"or a quieter machine",
			worse(least), worse(most), percent(l.Tolerated))
		if l.PAdjusted != nil && l.least*float64(family) > falseAlarms {
			l.Reason += "; so few runs cannot show that any of so many metrics differs"
		}
	}
}
