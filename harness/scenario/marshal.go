package scenario

import (
	"fmt"
	"slices"
	"strings"
)

// A line is one of a scenario's file: what it says, and the key in origins that it
// says it of, if it is a value.
type line struct{ text, key string }

// Marshal returns the scenario as a file that [Load] reads back to an equal
// one. It writes every value, defaults and overrides alike, so that the file
// means the same when defaults change; it has no comments.
func (s *Scenario) Marshal() []byte {
	var b strings.Builder
	for _, l := range s.lines() {
		b.WriteString(l.text + "\n")
	}
	return []byte(b.String())
}

func (s *Scenario) lines() []line {
	var all []line
	add := func(key, format string, args ...any) { all = append(all, line{fmt.Sprintf(format, args...), key}) }
	for _, k := range keys {
		if !k.written(s) {
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
		add(k.Name, "%s: %s", k.Name, text)
	}
	if len(s.Faults) > 0 {
		add("", "faults:")
	}
	for i, f := range s.Faults {
		indent := "  - "
		for _, key := range faultKeys {
			if key.present(&f) {
				add(faultOrigin(i, key.name), "%s%s: %s", indent, key.name, key.field(&f))
				indent = "    "
			}
		}
	}
	if len(s.Expect) > 0 {
		add("", "expect:")
		for _, c := range checks {
			if e, ok := s.Expect[c]; ok {
				add("expect."+c, "  %s: %s", c, e)
			}
		}
	}
	if len(s.Shown) > 0 {
		add("", "shown:")
		for _, c := range counters {
			if n, ok := s.Shown[c]; ok {
				add("shown."+c, "  %s: %d", c, n)
			}
		}
	}
	if len(s.Thresholds) > 0 {
		add("", "%s:", thresholdsKey)
		for i, t := range s.Thresholds {
			add(thresholdKey(i), "  - %s", t)
		}
	}
	return all
}

// ambiguous are the names that YAML takes for something else; so it does with
// some that begin with a digit.
var ambiguous = []string{"null", "true", "false", "yes", "no", "on", "off", "y", "n"}

// quoteYAML writes printable text as a double-quoted scalar.
func quoteYAML(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}
