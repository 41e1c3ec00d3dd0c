package scenario

import (
	"fmt"
	"slices"
)

// rank orders where a value can come from; the higher overrides the lower.
type rank int

const (
	fromDefault rank = iota
	fromFile
	fromEnv
	fromFlag
	fromVaried // beside a scenario that has all of those
)

// An origin is where a value came from.
type origin struct {
	rank         rank
	line, column int    // of the key, fromFile
	name         string // fromEnv, fromFlag: as the user spelled it
}

// Set overrides the key, as the flag of that name. The error is an
// *InputError that names the flag.
func (s *Scenario) Set(key, text string) error {
	return s.override(key, text, origin{rank: fromFlag, name: "--" + key})
}

// ApplyEnv overrides every key whose variable the lookup (os.LookupEnv) finds;
// flags that have been set stay. The error names the variable.
func (s *Scenario) ApplyEnv(lookup func(string) (string, bool)) error {
	for _, k := range Keys() {
		text, ok := lookup(k.Env())
		if !ok || text == "" {
			continue
		}
		if err := s.override(k.Name, text, origin{rank: fromEnv, name: k.Env()}); err != nil {
			return err
		}
	}
	return s.applyThresholdEnv(lookup)
}

func (s *Scenario) override(key, text string, from origin) error {
	k, known := findKey(key)
	if !known || k.fileOnly {
		var names []string
		for _, k := range Keys() {
			names = append(names, k.Name)
		}
		return &InputError{Flag: from.name, Msg: "no such key", Hint: didYouMean(key, names)}
	}
	if err := s.set(k, text, from); err != nil {
		return inFlag(from.name, err)
	}
	if n, ok := k.field(s).(number); ok {
		if err := bounded(k, n); err != nil {
			return inFlag(from.name, err)
		}
	}
	return nil
}

func inFlag(name string, err error) error {
	v := err.(*valueError)
	return &InputError{Flag: name, Msg: v.msg, Hint: v.hint}
}

// set sets the key's field, unless something stronger has.
func (s *Scenario) set(k Key, text string, from origin) error {
	if s.origins[k.Name].rank > from.rank {
		return k.field(Defaults()).Set(text) // wrong is wrong, though it does not matter
	}
	rival, rivalled := findKey(k.rival)
	if rivalled && s.origins[rival.Name].rank > from.rank {
		return k.field(Defaults()).Set(text)
	}
	if err := k.field(s).Set(text); err != nil {
		return err
	}
	s.followWorkload(k, from)
	if rivalled && s.origins[rival.Name].rank < from.rank && !k.isZero(s) {
		rival.clear(s)
		delete(s.origins, rival.Name)
	}
	s.note(k.Name, from)
	return nil
}

// followWorkload gives the scenario its new workload's recipe, if that was all that
// was said, or if what was said of the recipe is weaker and does not fit.
func (s *Scenario) followWorkload(k Key, from origin) {
	if k.Name != "workload" {
		return
	}
	given := s.origins["recipe"].rank
	misfit := slices.ContainsFunc(s.Recipes(), func(r Recipe) bool { return !r.Serves(s.Workload) })
	if given == fromDefault || given < from.rank && misfit {
		s.Recipe = defaultRecipe(s.Workload)
		delete(s.origins, "recipe")
	}
}

// Serves reports whether the scenario's workload has the key, as far as it is one.
func (s *Scenario) Serves(key string) bool {
	k, known := findKey(key)
	return !known || k.of(s)
}

// DropOtherWorkloads forgets what was said of keys that the scenario's workload does not have, for
// who varies the workload of one scenario.
func (s *Scenario) DropOtherWorkloads() {
	for _, k := range keys {
		if k.of(s) {
			continue
		}
		if err := k.field(s).Set(k.field(Defaults()).String()); err != nil {
			panic(err) // defaults can be read
		}
		delete(s.origins, k.Name)
	}
}

func (s *Scenario) note(key string, from origin) {
	if s.origins == nil {
		s.origins = map[string]origin{}
	}
	s.origins[key] = from
}

// at makes an error out of a contradiction between the keys, the offender
// first. It is reported where the strongest of them came from, since that is
// what the user did last; of equals, at the first.
func (s *Scenario) at(msg, hint string, keys ...string) *InputError {
	best := origin{}
	for _, k := range keys {
		if o := s.origins[k]; o.rank > best.rank {
			best = o
		}
	}
	e := &InputError{Msg: msg, Hint: hint}
	switch best.rank {
	case fromFlag, fromEnv, fromVaried:
		e.Flag = best.name
	case fromFile:
		e.File, e.Line, e.Column = s.file, best.line, best.column
	default:
		if s.file != "" { // it is what the file does not say
			e.File, e.Line, e.Column = s.file, 1, 1
		}
	}
	return e
}

// Refuse is the error of somebody who knows more than Validate does, at the place
// where the key was set.
func (s *Scenario) Refuse(key, msg, hint string) error { return s.at(msg, hint, key) }

// bounded refuses a number outside of its key's bounds.
func bounded(k Key, n number) error {
	if v := n.get(); v < k.lo || v > k.hi {
		return &valueError{
			msg:  fmt.Sprintf("%s of %s is out of range", k.Name, n),
			hint: fmt.Sprintf("from %s to %s", n.format(k.lo), n.format(k.hi)),
		}
	}
	return nil
}

// Vary overrides the key in a copy of the scenario that is to be compared with it. It
// is stronger than a flag, so that of two keys that rule each other out the varied one stays. The error
// is an *InputError that names flag.
func (s *Scenario) Vary(flag, key, text string) (*Scenario, error) {
	c := s.Clone()
	if err := c.override(key, text, origin{rank: fromVaried, name: flag}); err != nil {
		return nil, err
	}
	return c, nil
}
