package export

import (
	_ "embed"
	"fmt"
	"io"
	"text/template"

	"locklab/reports/result"
	"locklab/reports/words"
)

var markdownFormat = Format{Name: "markdown", Has: "verdict, checks, key numbers, thresholds and warnings",
	For:    "comments and issues (GitHub’s Markdown)",
	Reader: "cmark-gfm", write: writeMarkdown}

//go:embed markdown.tmpl
var markdownText string

// markdown is a summary of a run for people.
var markdown = template.Must(template.New("markdown").Funcs(template.FuncMap{
	"md":      func(text any) string { return words.Markdown(fmt.Sprint(text)) },
	"grouped": func(n int) string { return words.Grouped(int64(n)) },
}).Parse(markdownText))

func writeMarkdown(w io.Writer, in result.Input) error {
	return markdown.Execute(w, map[string]any{"Result": &in.Result, "Numbers": result.Quantities()})
}
