package chaos

import (
	"slices"
	"sync"

	"locklab/harness/check/evidence"
	"locklab/harness/settings"
)

// A catalogue is the kinds of faults and their keys.
type catalogue struct {
	kinds []Kind
	// common are the keys of faults of every kind, own those that only a kind has, by its name, and keys all of them.
	// Each is in the order of a file, where the own keys come behind the first [aimKeys] common ones.
	common, keys []settings.Key
	own          map[string][]settings.Key
}

// aimKeys is the number of keys that say which fault strikes which target: kind and target.
const aimKeys = 2

var (
	makeCatalogue sync.Once
	made          catalogue
)

// known returns the catalogue of all kinds. It is built on first use, because that takes a while.
func known() *catalogue {
	makeCatalogue.Do(func() { made = newCatalogue(list()) })
	return &made
}

func newCatalogue(kinds []Kind) catalogue {
	var names []string
	for _, k := range kinds {
		names = append(names, k.Name)
	}
	c := catalogue{kinds: kinds, common: settings.Keys(Fault{}), own: map[string][]settings.Key{}}
	for name, choices := range map[string][]string{"kind": names, "trigger": triggers} {
		i := slices.IndexFunc(c.common, func(k settings.Key) bool { return k.Name == name })
		c.common[i] = c.common[i].WithChoices(choices)
	}
	c.keys = slices.Clone(c.common[:aimKeys])
	for _, k := range kinds {
		if k.Params == nil {
			continue
		}
		c.own[k.Name] = settings.Keys(k.Params)
		for _, key := range c.own[k.Name] {
			if _, known := settings.Find(c.keys, key.Name); !known {
				c.keys = append(c.keys, key)
			}
		}
	}
	c.keys = append(c.keys, c.common[aimKeys:]...)
	return c
}

// Kinds returns every kind of fault, family by family.
func Kinds() []Kind { return slices.Clone(known().kinds) }

// FaultKeys returns every key that an entry of faults can have, of whatever kind, in the order of a file.
func FaultKeys() []settings.Key { return slices.Clone(known().keys) }

// KindOf returns the kind of that name, and the zero Kind if there is none. It must not be changed.
func KindOf(name string) *Kind {
	kinds := known().kinds
	for i := range kinds {
		if kinds[i].Name == name {
			return &kinds[i]
		}
	}
	return &Kind{}
}

// kindNames lists the kinds for which f is true, all of them if f is nil.
func kindNames(f func(*Kind) bool) []string {
	var names []string
	kinds := known().kinds
	for i := range kinds {
		if f == nil || f(&kinds[i]) {
			names = append(names, kinds[i].Name)
		}
	}
	return names
}

// Natures says what faults of each kind can do, by the kind's name.
func Natures() map[string]evidence.FaultNature {
	all := map[string]evidence.FaultNature{}
	for _, k := range known().kinds {
		all[k.Name] = k.Nature
	}
	return all
}
