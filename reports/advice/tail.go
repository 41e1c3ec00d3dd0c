package advice

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"locklab/harness/scenario"
)

// A Tail is a generalized Pareto distribution in place of the pauses above a threshold, which extreme value theory
// gives for the tail of most distributions if the threshold is high enough (Pickands 1975, Balkema and de Haan 1974).
type Tail struct {
	ThresholdNs int64 `json:"threshold_ns"`
	Exceedances int   `json:"exceedances"`
	// Shape is ξ: above 0 the tail is heavy, and falls as the power -1/ξ. Below 0 it has an end.
	Shape   float64 `json:"shape"`
	ScaleNs int64   `json:"scale_ns"`

	threshold float64 // s
	pareto
	resampled []resample
}

// A pareto is a generalized Pareto distribution of what is above a threshold, in seconds.
type pareto struct{ shape, scale float64 }

// A resample is a tail fitted to exceedances that were drawn from those seen, and how many were drawn.
type resample struct {
	pareto
	n float64
}

// The tail is fitted to the longest tenth of the pauses, to at most mostExceedances of them and to no fewer than
// leastExceedances.
const (
	leastExceedances = 40
	mostExceedances  = 500
	resamples        = 200
)

// fitTail fits a tail. The interval of what follows from it comes from fits to samples of the exceedances (the
// bootstrap), which are always the same for the same pauses.
func fitTail(p *Pauses) (*Tail, error) {
	refuse := func(msg, hint string) error {
		return &scenario.InputError{Flag: "--extrapolate", Msg: msg, Hint: hint}
	}
	if p.Interpolated {
		return nil, refuse("quantiles have no tail to fit", "give a log")
	}
	n := int(p.Count())
	k := min(mostExceedances, max(leastExceedances, n/10))
	if n < 2*k {
		return nil, refuse(fmt.Sprintf("%d pauses are too few to fit their tail", n),
			fmt.Sprintf("at least %d", 2*leastExceedances))
	}
	var longest []float64 // the longest first
	threshold := 0.0
	for _, l := range slices.Backward(p.Lengths) {
		if s := l.Of.Seconds(); len(longest) >= k && s < longest[len(longest)-1] {
			threshold = s
			break
		}
		for range int(min(l.Count, float64(mostExceedances+1))) {
			longest = append(longest, l.Of.Seconds())
		}
	}
	for i := range longest {
		longest[i] -= threshold
	}
	slices.Sort(longest)
	if len(longest) > 2*mostExceedances || longest[0] <= 0 || longest[len(longest)/4] == longest[len(longest)-1] {
		return nil, refuse("too many of the longest pauses have the same length to fit their tail", "give a longer log")
	}
	t := &Tail{threshold: threshold, Exceedances: len(longest), pareto: fitPareto(longest)}
	t.ThresholdNs, t.Shape = int64(threshold*float64(time.Second)), t.shape
	t.ScaleNs = int64(t.scale * float64(time.Second))
	src := rand.NewPCG(1, 1)
	counts := distuv.Poisson{Lambda: float64(len(longest)), Src: src}
	draw := rand.New(src)
	for range resamples {
		sample := make([]float64, max(leastExceedances/2, int(counts.Rand())))
		for i := range sample {
			sample[i] = longest[draw.IntN(len(longest))]
		}
		slices.Sort(sample)
		t.resampled = append(t.resampled, resample{fitPareto(sample), float64(len(sample))})
	}
	return t, nil
}

// fitPareto estimates the distribution of exceedances in ascending order, by Zhang and Stephens (A New and Efficient
// Estimation Method for the Generalized Pareto Distribution, Technometrics 51, 2009): the mean of the likelihood over
// a prior that the data give.
func fitPareto(x []float64) pareto {
	n := len(x)
	m := 30 + int(math.Sqrt(float64(n)))
	quarter, most := x[int(float64(n)/4+0.5)-1], x[n-1]
	theta, fit := make([]float64, m), make([]float64, m)
	for j := range theta {
		theta[j] = 1/most + (1-math.Sqrt(float64(m)/(float64(j)+0.5)))/(3*quarter)
		k := shapeOf(theta[j], x)
		fit[j] = float64(n) * (math.Log(-theta[j]/k) - k - 1)
	}
	mean, weights, best := 0.0, 0.0, slices.Max(fit)
	for j := range theta {
		w := math.Exp(fit[j] - best)
		mean += w * theta[j]
		weights += w
	}
	mean /= weights
	shape := shapeOf(mean, x)
	return pareto{shape: shape, scale: -shape / mean}
}

// shapeOf is the shape at which the likelihood is highest for a given θ = -ξ/σ.
func shapeOf(theta float64, x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += math.Log1p(-theta * v)
	}
	return sum / float64(len(x))
}

// longer returns the share of the exceedances that are longer than x.
func (p pareto) longer(x float64) float64 {
	switch base := 1 + p.shape*x/p.scale; {
	case math.Abs(p.shape) < 1e-9:
		return math.Exp(-x / p.scale)
	case base <= 0:
		return 0
	default:
		return math.Pow(base, -1/p.shape)
	}
}

// rate returns how often a year pauses do harm that have these weights by length: the pauses below the threshold as
// they were seen, those above it by the fit. Weights do not change between from and to, and neither below nor above.
func (t *Tail) rate(p *Pauses, weight func(seconds float64) float64, from, to, factor float64) Rate {
	if weight(to) == 0 {
		return Rate{}
	}
	below, squares := 0.0, 0.0
	for _, l := range p.Lengths {
		if s := l.Of.Seconds(); s > from && s <= t.threshold {
			w := weight(s)
			below += l.Count * w
			squares += l.Count * w * w
		}
	}
	const parts = 100
	from, to = max(from, t.threshold), max(to, t.threshold)
	least := weight(from)
	var at, rise [parts]float64
	for i := range at {
		a, b := from+(to-from)*float64(i)/parts, from+(to-from)*float64(i+1)/parts
		at[i], rise[i] = (a+b)/2-t.threshold, weight(b)-weight(a)
	}
	above := func(p pareto) float64 { // the mean weight of an exceedance, by parts
		sum := least * p.longer(from-t.threshold)
		for i := range at {
			sum += rise[i] * p.longer(at[i])
		}
		return sum
	}
	src := rand.NewPCG(2, 2)
	all := make([]float64, len(t.resampled))
	for i, r := range t.resampled {
		all[i] = r.n * above(r.pareto)
		if below > 0 {
			all[i] += distuv.Gamma{Alpha: below * below / squares, Beta: below / squares, Src: src}.Rand()
		}
	}
	slices.Sort(all)
	cut := int(math.Round((1 - confidence) / 2 * float64(len(all))))
	return Rate{
		AYear: factor * (below + float64(t.Exceedances)*above(t.pareto)),
		Low:   factor * all[cut], High: factor * all[len(all)-1-cut],
		Extrapolated: to > p.Longest().Seconds(),
	}
}
