package scenario

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"locklab/ensembles/remote"
	"locklab/ensembles/txnlog/nodes"
	"locklab/harness/settings"
	"locklab/workloads"
	"locklab/workloads/guard"
	"locklab/workloads/lock"
)

// A Key describes one scalar key of a scenario. Most of them are also flags and environment variables.
//
// The tag scenario of a field says what else there is to know about its key:
//
//	fileonly    neither a flag nor a variable sets it
//	omitempty   it is not written where it is zero
//	drawn       only schedules that draw faults have it
//	own         only runs on servers that locklab starts have it
//	elsewhere   only runs on other servers have it
//	workload=W  only that workload has it
//	rival=KEY   a setting of it replaces a weaker one of the rival
type Key struct {
	settings.Key
	Default string   // as text; empty = none
	Values  []string // what the key can be, or an example of each form; nil where any text of its kind may do
	Bool    bool     // a flag without a value

	fileOnly, optional, drawn, own, elsewhere bool
	workload, rival                           string
}

// choices has the values of keys whose values are listed in other tables.
var choices = map[string][]string{"answers": readers, "guard": guard.Names(), "workload": workloads.All}

// help says in half a sentence what each scalar key means, with units.
//
//go:embed help.txt
var help string

// allKeys returns the scalar keys in the order of a file.
var allKeys = sync.OnceValue(func() []Key {
	var all []Key
	for _, k := range settings.Keys(Scenario{}, settings.Texts(help)) {
		all = append(all, newKey(k))
	}
	return all
})

func newKey(of settings.Key) Key {
	if known, ok := choices[of.Name]; ok {
		of = of.WithChoices(known)
	}
	k := Key{Key: of, Bool: of.Kind == settings.Bool, Values: of.Choices}
	if k.Name == "recipe" {
		k.Values = append(lock.Names(), lock.ExecPrefix+"CMD")
	}
	for option := range strings.SplitSeq(k.Tag.Get("scenario"), ",") {
		name, value, _ := strings.Cut(option, "=")
		if is := map[string]*bool{"fileonly": &k.fileOnly, "omitempty": &k.optional, "drawn": &k.drawn, "own": &k.own,
			"elsewhere": &k.elsewhere}[name]; is != nil {
			*is = true
		}
		if of := map[string]*string{"workload": &k.workload, "rival": &k.rival}[name]; of != nil {
			*of = value
		}
	}
	if d := Defaults(); !k.optional || !k.IsZero(d) {
		k.Default = k.Text(d)
	}
	return k
}

// Keys returns the keys that are flags too, in the order of a file.
func Keys() []Key {
	return slices.DeleteFunc(slices.Clone(allKeys()), func(k Key) bool { return k.fileOnly })
}

// Env returns the name of the key's environment variable: LOCKLAB_CLIENTS.
func (k Key) Env() string {
	return envName(k.Name)
}

// needsText reports whether a file that has the key must not have it with an empty text, which means that it is not
// given.
func (k Key) needsText() bool { return k.optional && k.Name != "about" }

func findKey(name string) (Key, bool) {
	i := slices.IndexFunc(allKeys(), func(k Key) bool { return k.Name == name })
	if i < 0 {
		return Key{}, false
	}
	return allKeys()[i], true
}

// allNames lists the keys that a file can have, scalars first.
func allNames() []string {
	var names []string
	for _, k := range allKeys() {
		names = append(names, k.Name)
	}
	names = append(names, "faults")
	for _, b := range blocks {
		names = append(names, b.key)
	}
	return append(names, sometimesKey, thresholdsKey)
}

func (k Key) read(s *Scenario, text string) error {
	switch k.Name {
	case "name":
		if k.Set(&Scenario{}, text) != nil {
			return settings.Errorf("up to 64 lower-case letters, digits and dashes, such as mutex-pause",
				"%s is not a name", settings.Quote(text))
		}
	case "servers":
		if k.Set(&Scenario{}, text) != nil {
			return settings.Errorf("1, 3 or 5; with connect, as many as it names, and at most 9",
				"%s is not a number of servers", settings.Quote(text))
		}
	case "recipe":
		recipe, err := parseRecipe(text)
		if err != nil {
			return err
		}
		text = recipe
	case "zookeeper":
		versions, err := parseVersions(text)
		if err != nil {
			return err
		}
		text = versions
	case "connect":
		if _, _, err := remote.ParseConnect(text); err != nil && text != "" {
			return settings.Errorf("host:port,host:port, or the same with /chroot at its end", "%v", err)
		}
	case "connect-auth":
		if err := remote.CheckAuth(text); err != nil && text != "" {
			return settings.Errorf("such as file:/etc/locklab/zookeeper or env:ZOOKEEPER_AUTH", "%v", err)
		}
	case "layout":
		if _, err := nodes.ParseLayout(text); err != nil && text != "" {
			return settings.Errorf(nodes.LayoutForms, "%v", err)
		}
	}
	return k.Set(s, text)
}

// parseRecipe reads one recipe, several with commas, or a command.
func parseRecipe(text string) (string, error) {
	if command, ok := strings.CutPrefix(text, lock.ExecPrefix); ok {
		if strings.TrimSpace(command) != command || command == "" || settings.CheckLine(command) != nil {
			return "", settings.Errorf(lock.ExecPrefix+"FILE ARGUMENTS, with spaces in between",
				"%s does not name a command", settings.Quote(text))
		}
		if _, err := lock.Argv(command); err != nil {
			return "", settings.Errorf(lock.ExecPrefix+"FILE, a script that has the arguments", "%v", err)
		}
		return text, nil
	}
	names := lock.Split(text)
	for i, name := range names {
		if strings.HasPrefix(name, lock.ExecPrefix) {
			return "", settings.Errorf("its znodes are not known; several of: "+strings.Join(lock.Closest(""), ", "),
				"a command cannot be mixed with other recipes")
		}
		if _, known := lock.Find(name); !known {
			return "", settings.Errorf(settings.DidYouMean(name, lock.Closest(name)), "unknown value %s", settings.Quote(name))
		}
		if slices.Contains(names[:i], name) {
			return "", settings.Errorf("each recipe once: they are dealt to the client processes in turn",
				"%s is given twice", name)
		}
	}
	return strings.Join(names, ","), nil
}

// Text returns the value of a key, as a file has it; empty if there is no such key.
func (s *Scenario) Text(key string) string {
	k, ok := findKey(key)
	if !ok {
		return ""
	}
	return k.Text(s)
}

// CopyKeys gives the scenario the values that another one has of some keys. It ignores keys that do not exist.
func (s *Scenario) CopyKeys(other *Scenario, keys []string) {
	for _, key := range keys {
		if k, ok := findKey(key); ok {
			k.Copy(s, other)
		}
	}
}

// of reports whether the scenario's workload and its schedule have the key.
func (k Key) of(s *Scenario) bool {
	return (k.workload == "" || k.workload == s.Workload) && (!k.drawn || s.Drawn()) && (!k.own || s.Connect == "") &&
		(!k.elsewhere || s.Connect != "")
}

// written reports whether the scenario's file has the key.
func (k Key) written(s *Scenario) bool { return k.of(s) && !(k.optional && k.IsZero(s)) }

// Differences lists the keys whose values differ between the files of the two scenarios. Names and seeds do not count.
func (s *Scenario) Differences(other *Scenario) []string {
	text := func(s *Scenario, k Key) string {
		if !k.written(s) {
			return ""
		}
		return k.Text(s)
	}
	keys := []string{}
	for _, k := range Keys() {
		if k.Name != "seed" && text(s, k) != text(other, k) {
			keys = append(keys, k.Name)
		}
	}
	return slices.Clip(keys)
}

// Serves reports whether the scenario's workload has the key. It also returns true for a name that is not a key.
func (s *Scenario) Serves(key string) bool {
	k, known := findKey(key)
	return !known || k.of(s)
}

// DropOtherWorkloads resets the keys of other workloads to their defaults, so that the workload of a scenario can be
// varied.
func (s *Scenario) DropOtherWorkloads() {
	for _, k := range allKeys() {
		if !k.of(s) {
			k.Copy(s, Defaults())
			delete(s.origins, k.Name)
		}
	}
}
