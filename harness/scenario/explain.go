package scenario

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Explain returns what [Scenario.Marshal] does, with the origin of each value as a
// comment behind it: the flag, the variable, the file and line, or the default.
func (s *Scenario) Explain() []byte {
	const most = 44 // columns before the comments; a longer line pushes its own out
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

// OriginOf says where the value of a key came from: "--clients", "LOCKLAB_CLIENTS",
// "my.yaml:7", "default", "drawn" for a seed that nobody gave, or "derived" if it follows
// from other values. The keys are a file's; a part is "faults[0].for",
// "expect.effect", "shown.overlaps" or "thresholds[0]".
func (s *Scenario) OriginOf(key string) string {
	switch o := s.origins[key]; o.rank {
	case fromFlag, fromEnv, fromVaried:
		return o.name
	case fromFile:
		return fmt.Sprintf("%s:%d", s.file, o.line)
	}
	if key == "seed" && s.Seed != 0 {
		return "drawn"
	}
	if k, ok := findKey(key); !ok || k.field(s).String() != k.field(Defaults()).String() {
		return "derived"
	}
	return "default"
}
