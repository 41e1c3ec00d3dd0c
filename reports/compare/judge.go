package compare

import "fmt"

// measure fills in a metric's numbers. A line that has no verdict afterwards is
// for judge.
//
// Of pairs, the runs of the sides are in the same order.
func measure(m Metric, base, head Side, paired bool) Line {
	l := Line{Name: m.Name, Unit: m.Unit, Gates: m.Gates, Difference: m.Difference, Floor: m.Floor, metric: m}
	b, bad := valuesOf(m, base)
	h, bad2 := valuesOf(m, head)
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

// valuesOf returns the metric of each run, and what is wrong with them, if
// anything.
func valuesOf(m Metric, s Side) (x []float64, bad string) {
	for i := range s.Runs {
		v := m.Of(&s.Runs[i].Result)
		switch {
		case v == nil:
			bad = fmt.Sprintf("%s has none", s.Runs[i].Name)
			continue
		case *v == 0 && !m.Difference:
			bad = fmt.Sprintf("it is 0 in %s: nothing has a ratio to that", s.Runs[i].Name)
		}
		x = append(x, *v)
	}
	return x, bad
}

// constant reports whether all values are the same. Then nothing can differ, whichever runs are on
// which side, and the metric need not be paid for in the others' significance (Tarone 1990).
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

// judge gives each line that has none a verdict. The lines that gate are adjusted
// for their number; the others are looked at one by one, and nothing depends on
// them. A metric that was asked for by name must have been measured.
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

// judge weighs one metric of so many that gate.
func (l *Line) judge(family int) {
	p := *l.P
	if l.PAdjusted != nil {
		p = *l.PAdjusted
	}
	loss, least, most := l.metric.loss(*l.Change)
	significant := p < falseAlarms
	switch {
	case significant && loss > l.Floor:
		l.Verdict, l.Reason = Regressed, l.describe()
	case significant && l.metric.gain(*l.Change) > l.Floor:
		l.Verdict, l.Reason = Improved, l.describe()
	case most <= l.Tolerated:
		l.Verdict, l.Reason = Pass, l.describe()
	default:
		l.Verdict = Inconclusive
		l.Reason = fmt.Sprintf("anything from %s to %s is possible, and %s would matter; take more runs, longer ones, or a quieter machine",
			worse(least), worse(most), percent(l.Tolerated))
		if l.PAdjusted != nil && l.least*float64(family) > falseAlarms {
			l.Reason += "; so few runs cannot show that any of so many metrics differs"
		}
	}
}

// loss is by how much the metric got worse, and the ends of its interval, the
// smaller first. A throughput that halves is a loss of 100 %, as a latency that
// doubles: the work takes twice as long.
func (m Metric) loss(i Interval) (estimate, least, most float64) {
	f := func(v float64) float64 {
		switch {
		case m.Difference && m.HigherIsBetter:
			return -v
		case m.Difference:
			return v
		case m.HigherIsBetter:
			return 1/v - 1
		}
		return v - 1
	}
	least, most = f(i.Low), f(i.High)
	return f(i.Estimate), min(least, most), max(least, most)
}

// gain is by how much the metric got better, on the same scale.
func (m Metric) gain(i Interval) float64 {
	if m.Difference {
		loss, _, _ := m.loss(i)
		return -loss
	}
	m.HigherIsBetter = !m.HigherIsBetter
	gain, _, _ := m.loss(i)
	return gain
}
