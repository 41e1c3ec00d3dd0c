package scenario

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"locklab/harness/settings"
)

// A line is a line of a scenario's file, with the key in origins whose value it has, if any.
type line struct{ text, key string }

// Marshal returns the scenario as a file that [Load] reads back to an equal one. It writes every value, defaults and
// overrides alike, so that the file means the same when defaults change; it has no comments.
func (s *Scenario) Marshal() []byte {
	var b strings.Builder
	for _, l := range s.lines() {
		b.WriteString(l.text + "\n")
	}
	return []byte(b.String())
}

// Explain returns the file of [Scenario.Marshal] with a comment behind each value that says where it came from: the
// flag, the variable, the file and line, or the default.
func (s *Scenario) Explain() []byte {
	const most = 44 // columns before the comments; a longer line pushes its own comment out
	lines := s.lines()
	width := 0
	for _, l := range lines {
		if n := utf8.RuneCountInString(l.text); l.key != "" && n <= most {
			width = max(width, n)
		}
	}
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.text)
		if l.key != "" {
			pad := max(width-utf8.RuneCountInString(l.text), 0)
			b.WriteString(strings.Repeat(" ", pad) + "  # " + s.OriginOf(l.key))
		}
		b.WriteByte('\n')
	}
	return []byte(b.String())
}

// OriginOf says where the value of a key came from: "--clients", "LOCKLAB_CLIENTS", "my.yaml:7", "default", "drawn" for
// a seed that was not given, or "derived" if it follows from other values. Keys are named as in a file; a part is
// "faults[0].for", "expect.effect", "shown.overlaps" or "thresholds[0]".
func (s *Scenario) OriginOf(key string) string {
	switch o := s.origins[key]; o.rank {
	case fromFlag, fromEnv, fromVaried:
		return o.name
	case fromBuiltin, fromFile:
		return fmt.Sprintf("%s:%d", s.file, o.line)
	}
	if key == "seed" && s.Seed != 0 {
		return "drawn"
	}
	if k, ok := findKey(key); !ok || k.Text(s) != k.Text(Defaults()) {
		return "derived"
	}
	return "default"
}

func (s *Scenario) lines() []line {
	var all []line
	add := func(key, format string, args ...any) { all = append(all, line{fmt.Sprintf(format, args...), key}) }
	for _, k := range allKeys() {
		if k.written(s) {
			text := k.Text(s)
			if k.Kind == settings.Line {
				text = quoteYAML(text)
			}
			add(k.Name, "%s: %s", k.Name, text)
		}
	}
	if len(s.Faults) > 0 {
		add("", "faults:")
	}
	for i, f := range s.Faults {
		indent := "  - "
		for _, k := range f.Keys() {
			add(faultOrigin(i, k.Key), "%s%s: %s", indent, k.Key, k.Text)
			indent = "    "
		}
	}
	for _, b := range blocks {
		texts := b.texts(s)
		if len(texts) > 0 {
			add("", "%s:", b.key)
		}
		for _, name := range b.names() {
			if text, ok := texts[name]; ok {
				add(b.origin(name), "  %s: %s", name, text)
			}
		}
	}
	if len(s.Sometimes) > 0 {
		add("", "%s:", sometimesKey)
		for i, name := range s.Sometimes {
			add(sometimesOrigin(i), "  - %s", name)
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

// plainYAML matches words that need no quotes unless they are ambiguous, which means that YAML reads them as another
// type. Words that begin with a digit may be ambiguous too, so they are always quoted.
var (
	plainYAML = regexp.MustCompile(`^[a-z][a-z0-9,-]*$`)
	ambiguous = []string{"null", "true", "false", "yes", "no", "on", "off", "y", "n"}
)

// quoteYAML writes printable text as a scalar, with double quotes where they are needed.
func quoteYAML(text string) string {
	if plainYAML.MatchString(text) && !slices.Contains(ambiguous, text) {
		return text
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}
