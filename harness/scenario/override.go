package scenario

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"locklab/harness/settings"
	"locklab/workloads/lock"
)

// rank orders where a value can come from; the higher overrides the lower.
type rank int

const (
	fromDefault rank = iota
	fromBuiltin
	fromFile
	fromEnv
	fromFlag
	fromVaried // a second scenario that differs from the first in one key
)

// An origin is where a value came from.
type origin struct {
	rank         rank
	line, column int    // of the key, fromBuiltin and fromFile
	name         string // fromEnv, fromFlag: as the user spelled it
}

// Set overrides the key like the flag of that name. The error is an [*InputError] that names the flag.
func (s *Scenario) Set(key, text string) error {
	return s.override(key, text, origin{rank: fromFlag, name: "--" + key})
}

// LeaveResource makes holds as long as the scenario says, by leaving the resource alone that the lock protects. It does
// nothing if the scenario has faults, whose damage shows at the resource, or if it says what clients do with the
// resource, or if something else in it needs that.
func (s *Scenario) LeaveResource() { s.spare("section", SectionNone) }

// OneProcess runs all clients in one process, which asks for more than several can: their switches cost processor time
// that the servers may lack. It does nothing if the scenario has faults, which strike processes, or if it says how many
// processes there are, or if something else in it needs more.
func (s *Scenario) OneProcess() { s.spare("client-processes", "1") }

// spare changes a key from its default, in a scenario without faults, if everything else in it allows that.
func (s *Scenario) spare(key, text string) {
	if s.origins[key].rank > fromDefault || s.HasFaults() {
		return
	}
	c := s.Clone()
	if err := c.override(key, text, origin{rank: fromBuiltin}); err != nil {
		panic(err) // it is one of the key's values
	}
	if fmt.Sprint(c.Validate()) == fmt.Sprint(s.Validate()) {
		*s = *c
	}
}

// Vary returns a copy of the scenario in which the key has another value, for a comparison. The value is stronger than
// a flag, so that the varied key stays if another key excludes it. The error is an [*InputError] that names
// flag.
func (s *Scenario) Vary(flag, key, text string) (*Scenario, error) {
	if s.Connect != "" && slices.Contains(adopted, key) {
		return nil, &InputError{Flag: flag, Msg: key + " is a setting of the servers that connect names", Hint: "drop it"}
	}
	c := s.Clone()
	if err := c.override(key, text, origin{rank: fromVaried, name: flag}); err != nil {
		return nil, err
	}
	return c, nil
}

// ApplyEnv overrides every key whose variable the lookup ([os.LookupEnv]) finds. Flags that have been set stay. The
// error names the variable. One that is empty is refused as an empty flag is: most often its value comes from another
// variable that is not set.
func (s *Scenario) ApplyEnv(lookup func(string) (string, bool)) error {
	for _, k := range Keys() {
		text, ok := lookup(k.Env())
		if !ok {
			continue
		}
		if text == "" {
			return emptyEnv(k.Env())
		}
		if err := s.override(k.Name, text, origin{rank: fromEnv, name: k.Env()}); err != nil {
			return err
		}
	}
	switch text, ok := lookup(ThresholdEnv); {
	case ok && text == "":
		return emptyEnv(ThresholdEnv)
	case ok:
		return s.overrideThresholds(text, origin{rank: fromEnv, name: ThresholdEnv})
	}
	return nil
}

func (s *Scenario) override(key, text string, from origin) error {
	k, known := findKey(key)
	if !known || k.fileOnly {
		var names []string
		for _, k := range Keys() {
			names = append(names, k.Name)
		}
		return &InputError{Flag: from.name, Msg: "no such key", Hint: settings.DidYouMean(key, names)}
	}
	if err := s.set(k, text, from); err != nil {
		return inFlag(from.name, err)
	}
	return nil
}

// set sets the key's field unless a stronger origin has set it or its rival. It refuses a wrong text in any case.
func (s *Scenario) set(k Key, text string, from origin) error {
	rival, rivalled := findKey(k.rival)
	if s.origins[k.Name].rank > from.rank || rivalled && s.origins[rival.Name].rank > from.rank {
		return k.read(Defaults(), text)
	}
	if err := k.read(s, text); err != nil {
		return err
	}
	switch k.Name {
	case "workload":
		s.followWorkload(from)
		s.followRecipe()
	case "recipe":
		s.followRecipe()
	}
	if rivalled && s.origins[rival.Name].rank < from.rank && !k.IsZero(s) {
		rival.Clear(s)
		delete(s.origins, rival.Name)
	}
	s.note(k.Name, from)
	return nil
}

// followWorkload gives the scenario the default recipe of its new workload if no recipe was given, or if the given one
// came from a weaker origin than the workload and does not serve it.
func (s *Scenario) followWorkload(from origin) {
	given := s.origins["recipe"].rank
	misfit := slices.ContainsFunc(s.Recipes(), func(r lock.Recipe) bool { return !r.Serves(s.Workload) })
	if given == fromDefault || given < from.rank && misfit {
		s.Recipe = lock.Default(s.Workload)
		delete(s.origins, "recipe")
	}
}

// followRecipe sets a built-in scenario's downgrade-share to 0 if a recipe has no downgrade, so that the scenario can
// be run with every recipe, and restores it if all recipes have one. A share that the user gave stays, and Validate
// refuses it.
func (s *Scenario) followRecipe() {
	const key = "downgrade-share"
	if s.builtinDowngrade.share == 0 || s.origins[key].rank > fromBuiltin {
		return
	}
	if s.Mix().Downgrade {
		s.DowngradeShare = s.builtinDowngrade.share
		s.note(key, s.builtinDowngrade.from)
		return
	}
	s.DowngradeShare = 0
	delete(s.origins, key)
}

// A builtinShare is a share that a built-in scenario gave.
type builtinShare struct {
	share float64
	from  origin
}

func (s *Scenario) note(key string, from origin) {
	if s.origins == nil {
		s.origins = map[string]origin{}
	}
	s.origins[key] = from
}

// at returns an error about a contradiction between keys; the first one is at fault. Its place is where the strongest
// of them came from, because the user set that one last. Among equals it is the first.
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
		e.Flag, e.Hint = best.name, hintFor(best.rank, hint)
	case fromBuiltin, fromFile:
		e.File, e.Line, e.Column = s.file, best.line, best.column
	default:
		if s.file != "" { // the mistake is what the file leaves out
			e.File, e.Line, e.Column = s.file, 1, 1
		}
	}
	return e
}

// keyInHint matches a key of a hint, as a file has it.
var keyInHint = regexp.MustCompile(`\b[a-z]+(-[a-z]+)*: `)

// hintFor returns a hint, which names keys as a file has them, in the form of the place where the user wrote: with
// flags, or with variables.
func hintFor(place rank, hint string) string {
	return keyInHint.ReplaceAllStringFunc(hint, func(found string) string {
		k, known := findKey(strings.TrimSuffix(found, ": "))
		switch {
		case !known || k.fileOnly:
			return found
		case place == fromEnv:
			return k.Env() + "="
		case k.Bool:
			return "--" + k.Name + "="
		}
		return "--" + k.Name + " "
	})
}

// Refuse returns an [*InputError] about the key, with the place where it was set. Callers use it for mistakes that
// Validate cannot know.
func (s *Scenario) Refuse(key, msg, hint string) error { return s.at(msg, hint, key) }

const envPrefix = "LOCKLAB_"

// CheckEnv refuses variables of an environment ([os.Environ]) that begin with LOCKLAB_ but belong to no key, because a
// misspelt variable would have no effect and the user would not notice. Others lists names that have another use; one
// that ends in _ stands for all names that begin with it. [CheckEmptyEnv] is about empty variables. The error joins an
// [*InputError] for each.
func CheckEnv(environ []string, others []string) error {
	known := map[string]bool{ThresholdEnv: true}
	names := []string{ThresholdFlag}
	for _, k := range Keys() {
		known[k.Env()] = true
		names = append(names, k.Name)
	}
	var errs []*InputError
	for _, variable := range environ {
		name, value, _ := strings.Cut(variable, "=")
		other := func(o string) bool { return name == o || strings.HasSuffix(o, "_") && strings.HasPrefix(name, o) }
		if strings.HasPrefix(name, envPrefix) && value != "" && !known[name] && !slices.ContainsFunc(others, other) {
			errs = append(errs, &InputError{Flag: name, Msg: "no such key", Hint: likelyEnv(name, names)})
		}
	}
	slices.SortFunc(errs, func(a, b *InputError) int { return strings.Compare(a.Flag, b.Flag) })
	return join(errs)
}

// CheckEmptyEnv refuses variables that have locklab's prefix and no value, but for those that choose among tests.
func CheckEmptyEnv(environ []string) error {
	var errs []*InputError
	for _, variable := range environ {
		name, value, _ := strings.Cut(variable, "=")
		if strings.HasPrefix(name, envPrefix) && !strings.HasPrefix(name, envPrefix+"TEST_") && value == "" {
			errs = append(errs, emptyEnv(name))
		}
	}
	slices.SortFunc(errs, func(a, b *InputError) int { return strings.Compare(a.Flag, b.Flag) })
	return join(errs)
}

func emptyEnv(name string) *InputError {
	return &InputError{Flag: name, Msg: "the value is empty", Hint: "unset the variable, or give it a value"}
}

// likelyEnv suggests the variables whose names are close to one.
func likelyEnv(name string, keys []string) string {
	near := settings.Nearest(strings.TrimPrefix(name, envPrefix), keys)
	for i, key := range near {
		near[i] = envName(key)
	}
	if len(near) == 0 {
		return "unset it; each flag of locklab run has a variable, such as LOCKLAB_CLIENTS for --clients"
	}
	return "did you mean " + strings.Join(near, " or ") + "?"
}

// envName is the variable of a key.
func envName(key string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(key, "-", "_"))
}
