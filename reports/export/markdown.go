package export

import (
	"fmt"
	"io"
	"strings"

	"locklab/harness/check"
	"locklab/reports/result"
	"locklab/reports/words"
)

var markdownFormat = Format{Name: "markdown", Has: "verdict, checks, key numbers, thresholds and warnings",
	For:    "comments and issues (GitHub’s Markdown)",
	Reader: "cmark-gfm", write: writeMarkdown}

// writeMarkdown writes a summary of a run for people.
func writeMarkdown(w io.Writer, in result.Input) error {
	r := &in.Result
	var b strings.Builder
	fmt.Fprintf(&b, "### locklab %s: %s\n\n", words.Markdown(r.Scenario), r.Outcome.Heading())
	if r.Partial {
		b.WriteString("**This is a partial run.** What follows describes the part that was recorded.\n\n")
	}
	fmt.Fprintf(&b, "%s\n\n", words.Markdown(r.Headline))
	for _, text := range r.Caveats {
		fmt.Fprintf(&b, "**Warning:** %s\n\n", words.Markdown(text))
	}
	if f := &r.Failures; f.Count > 0 {
		fmt.Fprintf(&b, "%s:\n\n", f.Title())
		for _, line := range f.Lines() {
			fmt.Fprintf(&b, "- %s\n", words.Markdown(line))
		}
		b.WriteString("\n")
	}
	row := func(cells ...string) {
		for _, c := range cells {
			b.WriteString("| " + words.Markdown(c) + " ")
		}
		b.WriteString("|\n")
	}
	b.WriteString("| check | expected | found | what was found |\n|---|---|---|---|\n")
	for _, c := range r.Checks {
		found := string(c.Result)
		if c.Outcome != check.Pass {
			found += " (not as expected)"
		}
		row(c.Name, string(c.Expected), found, c.Summary)
	}
	b.WriteString("\n| number | value |\n|---|---:|\n")
	for _, q := range result.Quantities() {
		if q.Tile != "" {
			row(q.Tile, q.Show(q.Value(r)))
		}
	}
	if len(r.Thresholds) > 0 {
		b.WriteString("\n| threshold | verdict | value |\n|---|---|---|\n")
		for _, t := range r.Thresholds {
			row(t.Expr, string(t.Verdict), t.Shown())
		}
	}
	for i, text := range r.Warnings {
		if i == 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "- warning: %s\n", words.Markdown(text))
	}
	fmt.Fprintf(&b, "\n<sub>recipe %s, guard %s, %s servers, %s clients, seed %d</sub>\n", words.Markdown(r.Recipe),
		words.Markdown(r.Guard), words.Grouped(int64(r.Servers)), words.Grouped(int64(r.Clients)), r.Seed)
	_, err := io.WriteString(w, b.String())
	return err
}
