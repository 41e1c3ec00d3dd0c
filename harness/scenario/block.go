package scenario

import (
	"fmt"
	"slices"
	"strconv"

	"locklab/harness/check"
	"locklab/harness/check/counters"
	"locklab/harness/settings"
)

// A block is a key of a file whose value is a mapping of known names to scalars.
type block struct {
	key   string
	noun  string          // what the names name, in messages
	about string          // what the mapping says, for the schema
	names func() []string // in the order of a file
	value object          // the schema of a value
	read  func(s *Scenario, name, text string) error
	// check refuses a value that is read from a text but means nothing.
	check func(name, text string) error
	texts func(s *Scenario) map[string]string
}

// blocks are all blocks, in the order of a file. To add one, add a map to [Scenario] and [Scenario.Clone], and a line
// here; reading, writing, checking and the schema go by this list.
var blocks = []block{
	{
		key: "expect", noun: "check", names: check.Expectable, value: object{"enum": expectations},
		about: "The expected outcome of each check. A check that is not named must pass.",
		read: func(s *Scenario, name, text string) error {
			put(&s.Expect, name, text)
			return settings.Choose(text, expectations)
		},
		check: func(_, text string) error { return settings.Choose(text, expectations) },
		texts: func(s *Scenario) map[string]string { return s.Expect },
	},
	{
		key: "shown", noun: "counter", names: counters.Showable,
		value: object{"type": "integer", "minimum": 1, "maximum": maxShown},
		about: "The least value that each counter must reach.",
		read: func(s *Scenario, name, text string) error {
			n, err := settings.ParseInt(text)
			put(&s.Shown, name, int64(n))
			return err
		},
		check: func(name, text string) error {
			if n, err := strconv.Atoi(text); err != nil || n < 1 || n > maxShown {
				return settings.Errorf(fmt.Sprintf("from 1 to %d", maxShown), "%s of %s shows nothing", name, text)
			}
			return nil
		},
		texts: func(s *Scenario) map[string]string {
			texts := map[string]string{}
			for name, n := range s.Shown {
				texts[name] = strconv.FormatInt(n, 10)
			}
			return texts
		},
	},
}

// maxShown bounds the number that a counter can be expected to reach.
const maxShown = 1_000_000_000

func put[V any](m *map[string]V, name string, v V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[name] = v
}

func (b block) origin(name string) string { return b.key + "." + name }

// schema is what a JSON Schema says of the mapping.
func (b block) schema() object {
	properties := object{}
	for _, name := range b.names() {
		properties[name] = b.value
	}
	return object{"type": "object", "properties": properties, "additionalProperties": false, "description": b.about}
}

// blocks checks the entries of all blocks, each by itself.
func (v *validator) blocks() {
	for _, b := range blocks {
		texts := b.texts(v.Scenario)
		for _, name := range sortedKeys(texts) {
			if known := b.names(); !slices.Contains(known, name) {
				hint := settings.DidYouMean(name, known)
				v.refuse(by(b.origin(name), b.key), hint, "unknown %s %s", b.noun, settings.Quote(name))
			}
			v.refuseValue(b.origin(name), b.check(name, texts[name]))
		}
	}
}
