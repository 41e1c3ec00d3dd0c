package chaos

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"locklab/harness/settings"
)

// scheduleStream is the seed's stream of random numbers for schedules. Clients use the streams of their own numbers.
const scheduleStream = 1<<32 + 1

// At most drawnTogether random faults are in force at once. If one does not fit, up to drawTries others are drawn in
// its place.
const (
	drawnTogether = 2
	drawTries     = 20
)

// A drawer draws random faults from a scenario's seed.
type drawer struct {
	*Planned
	setting *Setting
	rand    *rand.Rand
	plan    *Plan
	mean    time.Duration
}

func newDrawer(p *Planned, s *Setting, plan *Plan) *drawer {
	return &drawer{Planned: p, setting: s, rand: rand.New(rand.NewPCG(p.Seed, scheduleStream)), plan: plan,
		mean: p.Interval}
}

func (d *drawer) draw(lacking map[string]string) {
	kinds := d.drawable(lacking)
	if len(kinds) == 0 {
		return
	}
	if d.Schedule == ScheduleSwarm {
		kinds = d.swarm(kinds)
		d.mean = time.Duration(float64(d.mean) * d.factor())
	}
	d.plan.Kinds, d.plan.Interval = kinds, d.mean
	last := d.setting.Duration - d.setting.recovery()
	for at := d.pause(); at < last; at += d.pause() {
		d.one(kinds, at)
	}
	// A run in which no fault meets a hold shows little. Some kinds cannot meet one for certain.
	for n := range time.Duration(drawTries) {
		if slices.ContainsFunc(d.plan.Steps, func(p PlannedFault) bool { return p.Fault.meetsHolds() }) {
			break
		}
		d.some(kinds, last*(n+1)/(drawTries+2), Fault.meetsHolds)
	}
	// A run without any random fault would show nothing.
	if !slices.ContainsFunc(d.plan.Steps, func(p PlannedFault) bool { return p.Drawn }) {
		d.one(kinds, last/3)
	}
}

// pause draws the time to the next fault.
func (d *drawer) pause() time.Duration {
	return time.Duration(d.rand.ExpFloat64() * float64(d.mean)).Round(time.Millisecond)
}

// factor draws a number from 1/2 to 2.
func (d *drawer) factor() float64 { return math.Exp2(2*d.rand.Float64() - 1) }

// swarm draws which kinds occur at all, each with a probability of one half, and how often each of them occurs.
func (d *drawer) swarm(kinds []WeightedKind) []WeightedKind {
	var some []WeightedKind
	for _, k := range kinds {
		in, weight := d.rand.IntN(2) == 0, max(1, int(math.Round(4*float64(k.Weight)*d.factor())))
		if in {
			some = append(some, WeightedKind{k.Kind, weight})
		}
	}
	if some == nil {
		return []WeightedKind{kinds[d.rand.IntN(len(kinds))]}
	}
	return some
}

// drawable returns the kinds that random faults may have on this machine, with their weights.
func (d *drawer) drawable(lacking map[string]string) []WeightedKind {
	weights := d.Kinds
	if len(weights) == 0 {
		for _, name := range drawnKinds() {
			weights = append(weights, WeightedKind{name, 1})
		}
	}
	var able []WeightedKind
	for _, w := range weights {
		c := KindOf(w.Kind).Capability
		if _, lacks := lacking[c]; !lacks || c == "" {
			able = append(able, w)
		}
	}
	return able
}

// DrawsRelayed reports whether random faults may be of a kind that acts on the relays of clients.
func (p *Planned) DrawsRelayed() bool {
	all := (&drawer{Planned: p}).drawable(nil)
	return p.Drawn() && slices.ContainsFunc(all, func(w WeightedKind) bool { return KindOf(w.Kind).Relayed != nil })
}

// one draws a fault that begins at that time, if one fits.
func (d *drawer) one(kinds []WeightedKind, at time.Duration) {
	d.some(kinds, at, func(Fault) bool { return true })
}

// some draws a fault that begins at that time and is of the sort that is wanted, if one fits.
func (d *drawer) some(kinds []WeightedKind, at time.Duration, wanted func(Fault) bool) {
	for range drawTries {
		f := d.fault(kinds, at)
		if !wanted(f) || !d.fits(f) {
			continue
		}
		n := 1
		for _, p := range d.plan.Steps {
			if p.Drawn {
				n++
			}
		}
		d.plan.Steps = append(d.plan.Steps, PlannedFault{ID: drawnID(n), Fault: f, Drawn: true})
		return
	}
}

func (d *drawer) fault(kinds []WeightedKind, at time.Duration) Fault {
	sum := 0
	for _, k := range kinds {
		sum += k.Weight
	}
	n, i := d.rand.IntN(sum), 0
	for n >= kinds[i].Weight {
		n -= kinds[i].Weight
		i++
	}
	k := KindOf(kinds[i].Kind)
	f := Fault{Kind: kinds[i].Kind, At: at, Params: k.Params}
	targets := drawnTargets(k.Targets)
	f.Target = targets[d.rand.IntN(len(targets))]
	if k.draw != nil {
		k.draw(d.rand, d.setting, &f)
	}
	if !k.Momentary {
		from, to := d.setting.resolve(d.Length.From), d.setting.resolve(d.Length.To)
		length := from + time.Duration(d.rand.Float64()*float64(to-from))
		f.For = Lasting(length.Round(time.Millisecond))
	}
	return f
}

// fits reports whether the fault can be done in the run, beside those that are planned already.
func (d *drawer) fits(f Fault) bool {
	if d.setting.Check(f) != nil {
		return false
	}
	beside := 0
	for _, p := range d.plan.Steps {
		if !d.setting.meet(f, p.Fault) {
			continue
		}
		if beside++; beside >= drawnTogether || !composes(f, p.Fault) {
			return false
		}
	}
	return true
}

// Weights are the kinds that random faults are drawn from, each with its relative frequency. Their text is
// "pause:3,kill". If there are none, all kinds are equally frequent.
type Weights []WeightedKind

// A WeightedKind is a kind and its weight.
type WeightedKind struct {
	Kind   string `json:"kind"`
	Weight int    `json:"weight"`
}

func (w WeightedKind) String() string {
	if w.Weight == 1 {
		return w.Kind
	}
	return w.Kind + ":" + strconv.Itoa(w.Weight)
}

// maxWeight bounds a weight.
const maxWeight = 1000

func (w Weights) String() string {
	var words []string
	for _, k := range w {
		words = append(words, k.String())
	}
	return strings.Join(words, ",")
}

// MarshalText implements [encoding.TextMarshaler].
func (w Weights) MarshalText() ([]byte, error) { return []byte(w.String()), nil }

// Schema implements [settings.Schemer].
func (Weights) Schema() settings.Schema {
	one := `(` + strings.Join(drawnKinds(), "|") + `)(:[1-9][0-9]{0,3})?`
	return settings.TextSchema(`^(` + one + `( *, *` + one + `)*)?$`)
}

// drawnKinds lists the kinds that random schedules may have.
func drawnKinds() []string { return kindNames(func(k *Kind) bool { return !k.NotDrawn }) }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (w *Weights) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*w = nil
		return nil
	}
	var all Weights
	seen := map[string]bool{}
	for part := range strings.SplitSeq(string(text), ",") {
		name, weight, given := strings.Cut(strings.TrimSpace(part), ":")
		one := WeightedKind{Kind: name, Weight: 1}
		if err := settings.Choose(name, drawnKinds()); err != nil {
			return err
		}
		if seen[name] {
			return settings.Errorf("each kind once, with its weight: "+name+":2", "%s is given twice", name)
		}
		seen[name] = true
		if given {
			n, err := strconv.Atoi(weight)
			if err != nil || n < 1 || n > maxWeight {
				hint := fmt.Sprintf("a whole number from 1 to %d, such as %s:2", maxWeight, name)
				return settings.Errorf(hint, "%s is not a weight", settings.Quote(weight))
			}
			one.Weight = n
		}
		all = append(all, one)
	}
	*w = all
	return nil
}
