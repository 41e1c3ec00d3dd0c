package chaos

import (
	"fmt"
	"strconv"
	"strings"

	"locklab/harness/settings"
)

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
