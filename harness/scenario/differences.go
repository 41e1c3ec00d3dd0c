package scenario

import "slices"

// Differences lists the keys in whose values the scenarios differ, as files would have them,
// each by its name in a flattened file: recipe, thresholds. Names and seeds are no difference.
func (s *Scenario) Differences(other *Scenario) []string {
	keys := []string{}
	for _, k := range Keys() {
		if k.Name != "seed" && s.shown(k) != other.shown(k) {
			keys = append(keys, k.Name)
		}
	}
	return slices.Clip(keys)
}

// written reports whether the key is in the scenario's file.
func (k Key) written(s *Scenario) bool { return k.of(s) && !(k.optional && k.isZero(s)) }

// shown is the value of a key in the scenario's file; empty if it is not there.
func (s *Scenario) shown(k Key) string {
	if !k.written(s) {
		return ""
	}
	return k.field(s).String()
}
