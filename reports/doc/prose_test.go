package doc

import (
	"slices"
	"strings"
	"testing"
)

// A text has a line for each of the template's, none if it comes to nothing, and says what it cannot say.
func TestProse(t *testing.T) {
	p := NewProse(`{{define "some"}}one
{{if .}}{{upper "two"}}
{{end}}{{end}}{{define "none"}}{{end}}{{define "wrong"}}one
{{.Missing}}{{end}}`, map[string]any{"upper": strings.ToUpper})
	if got := p.Lines("some", true); !slices.Equal(got, []string{"one", "TWO"}) {
		t.Errorf("%q", got)
	}
	if got := p.Lines("some", false); !slices.Equal(got, []string{"one"}) {
		t.Errorf("%q", got)
	}
	if got := p.Lines("none", nil); got != nil {
		t.Errorf("%q", got)
	}
	got := p.Lines("wrong", 1)
	if len(got) < 2 || got[0] != "one" || !strings.Contains(strings.Join(got, " "), "Missing") {
		t.Errorf("%q", got)
	}
}
