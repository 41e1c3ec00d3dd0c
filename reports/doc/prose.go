package doc

import (
	"strings"
	"text/template"
)

// A Prose has texts whose words stand in templates, by their names. It may be used by several goroutines.
type Prose struct{ all *template.Template }

// NewProse returns the texts that are defined in a template, which may use these functions. It panics if there is a
// mistake in the template.
func NewProse(text string, funcs map[string]any) Prose {
	return Prose{template.Must(template.New("").Funcs(funcs).Parse(text))}
}

// Lines returns the lines of a text about some data; none if the text comes to nothing. What the text cannot say of the
// data is said by its last line.
func (p Prose) Lines(name string, data any) []string {
	var b strings.Builder
	if err := p.all.ExecuteTemplate(&b, name, data); err != nil {
		b.WriteString("\n" + err.Error())
	}
	text := strings.TrimSuffix(b.String(), "\n")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}
