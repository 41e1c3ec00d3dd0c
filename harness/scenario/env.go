package scenario

import (
	"slices"
	"strings"
)

const envPrefix = "LOCKLAB_"

// CheckEnv refuses variables of an environment ([os.Environ]) that look like a key's and are none: one that is
// misspelt would leave its key as it was, and nobody would know. Others are the names that belong to
// somebody else; one that ends in _ stands for all that begin with it. An empty variable says nothing, as
// everywhere. The error joins an [*InputError] for each.
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
		switch {
		case !strings.HasPrefix(name, envPrefix) || value == "" || known[name]:
		case slices.ContainsFunc(others, func(o string) bool { return name == o || strings.HasSuffix(o, "_") && strings.HasPrefix(name, o) }):
		default:
			errs = append(errs, &InputError{Flag: name, Msg: "no such key", Hint: likelyEnv(name, names)})
		}
	}
	slices.SortFunc(errs, func(a, b *InputError) int { return strings.Compare(a.Flag, b.Flag) })
	return join(errs)
}

// likelyEnv suggests the variables that are near to one.
func likelyEnv(name string, keys []string) string {
	near := nearest(strings.TrimPrefix(name, envPrefix), keys)
	for i, key := range near {
		near[i] = Key{Name: key}.Env()
	}
	if len(near) == 0 {
		return "unset it; each flag of locklab run has a variable, such as LOCKLAB_CLIENTS for --clients"
	}
	return "did you mean " + strings.Join(near, " or ") + "?"
}
