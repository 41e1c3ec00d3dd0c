package scenario

import (
	"slices"
	"strings"

	"locklab/harness/settings"
)

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
