package scenario

import (
	"fmt"
	"slices"
	"strings"
)

// Marshal returns the scenario as a file that [Load] reads back to an equal
// one. It writes every value, defaults and overrides alike, so that the file
// means the same when defaults change; it has no comments.
func (s *Scenario) Marshal() []byte {
	var b strings.Builder
	for _, k := range keys {
		if k.optional && k.isZero(s) {
			continue
		}
		v := k.field(s)
		text := v.String()
		switch v.(type) {
		case textValue, imageValue:
			text = quoteYAML(text)
		case recipeValue:
			if s.Command() != nil {
				text = quoteYAML(text)
			}
		case nameValue:
			if text < "a" || slices.Contains(ambiguous, text) {
				text = quoteYAML(text)
			}
		}
		fmt.Fprintf(&b, "%s: %s\n", k.Name, text)
	}
	if len(s.Faults) > 0 {
		b.WriteString("faults:\n")
	}
	for _, f := range s.Faults {
		indent := "  - "
		for _, key := range faultKeys {
			if f.present(key) {
				fmt.Fprintf(&b, "%s%s: %s\n", indent, key, f.field(key))
				indent = "    "
			}
		}
	}
	if len(s.Expect) > 0 {
		b.WriteString("expect:\n")
		for _, c := range checks {
			if e, ok := s.Expect[c]; ok {
				fmt.Fprintf(&b, "  %s: %s\n", c, e)
			}
		}
	}
	if len(s.Shown) > 0 {
		b.WriteString("shown:\n")
		for _, c := range counters {
			if n, ok := s.Shown[c]; ok {
				fmt.Fprintf(&b, "  %s: %d\n", c, n)
			}
		}
	}
	return []byte(b.String())
}

// ambiguous are the names that YAML takes for something else; so it does with
// some that begin with a digit.
var ambiguous = []string{"null", "true", "false", "yes", "no", "on", "off", "y", "n"}

// quoteYAML writes printable text as a double-quoted scalar.
func quoteYAML(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}
