package scenario

import (
	"fmt"
	"strconv"
	"strings"
)

// A WeightedKind is a kind of fault and how often it is drawn, against the others.
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

// heaviest bounds a weight.
const heaviest = 1000

// weightsValue is kinds with their weights: "pause:3,kill"; empty for all kinds alike.
type weightsValue struct{ p *[]WeightedKind }

func (v weightsValue) String() string { return joinStrings(*v.p) }

func (v weightsValue) Set(text string) (err error) {
	*v.p, err = keep(*v.p, text, parseWeights)
	return err
}

func (weightsValue) schema(Key) object {
	one := `(` + strings.Join(drawnKinds(), "|") + `)(:[1-9][0-9]{0,3})?`
	return text(`^(` + one + `( *, *` + one + `)*)?$`)
}

// joinStrings writes a list with commas.
func joinStrings[T fmt.Stringer](list []T) string {
	var words []string
	for _, w := range list {
		words = append(words, w.String())
	}
	return strings.Join(words, ",")
}

func drawnKinds() []string { return faultKindNames(func(k FaultKind) bool { return !k.NotDrawn }) }

func parseWeights(text string) ([]WeightedKind, error) {
	if text == "" {
		return nil, nil
	}
	var all []WeightedKind
	seen := map[string]bool{}
	for part := range strings.SplitSeq(text, ",") {
		name, weight, given := strings.Cut(strings.TrimSpace(part), ":")
		w := WeightedKind{Kind: name, Weight: 1}
		if err := choose(name, drawnKinds()); err != nil {
			return nil, err
		}
		if seen[name] {
			return nil, &valueError{msg: name + " is given twice", hint: "each kind once, with its weight: " + name + ":2"}
		}
		seen[name] = true
		if given {
			n, err := strconv.Atoi(weight)
			if err != nil || n < 1 || n > heaviest {
				return nil, &valueError{msg: quote(weight) + " is not a weight", hint: fmt.Sprintf("a whole number from 1 to %d, such as %s:2", heaviest, name)}
			}
			w.Weight = n
		}
		all = append(all, w)
	}
	return all, nil
}

// A SpanRange is what lengths are drawn from, evenly. Both ends may be the same.
type SpanRange struct{ From, To Span }

// spanRangeValue is a range of spans, "0.5T..expiry+1s", or one span.
type spanRangeValue struct{ p *SpanRange }

func (v spanRangeValue) String() string {
	if v.p.From == v.p.To {
		return v.p.From.String()
	}
	return v.p.From.String() + ".." + v.p.To.String()
}

func (v spanRangeValue) Set(text string) (err error) {
	*v.p, err = keep(*v.p, text, func(text string) (SpanRange, error) {
		from, to, isRange := strings.Cut(text, "..")
		if !isRange {
			to = from
		}
		var r SpanRange
		var err error
		if r.From, err = ParseSpan(strings.TrimSpace(from)); err == nil {
			r.To, err = ParseSpan(strings.TrimSpace(to))
		}
		return r, err
	})
	return err
}

func (spanRangeValue) schema(Key) object {
	one := `(` + spanPattern + `)`
	return text(`^` + one + `( *\.\. *` + one + `)?$`)
}
