package compare

import (
	"bytes"
	"fmt"

	"locklab/reports/words"
)

// writeMarkdown writes a comment for a pull request: the answer, the metrics that gate in a table, and the rest
// folded.
func writeMarkdown(w *bytes.Buffer, r Report) error {
	fmt.Fprintf(w, "### locklab: %s\n\n%s\n", r.Verdict, words.Markdown(r.Reason))
	for _, v := range r.Violations {
		fmt.Fprintf(w, "\n- **violation**: %s", words.Markdown(v))
	}
	if len(r.Violations) > 0 {
		fmt.Fprintln(w)
	}
	table := func(gates bool) {
		fmt.Fprint(w, "\n| metric | base | head | ratio (interval) | tolerated | p | verdict |\n"+
			"|---|---:|---:|---:|---:|---:|---|\n")
		for _, l := range r.Metrics {
			if l.Gates != gates || !l.shown() {
				continue
			}
			verdict := string(l.Verdict)
			if gates && l.Verdict != Pass {
				verdict = "**" + verdict + "**"
			}
			fmt.Fprintf(w, "| `%s` | %s | %s | %s | %s | %s | %s |\n", l.Name, amount(l.BaseMedian, l.Unit),
				amount(l.HeadMedian, l.Unit), l.ratio(), l.tolerated(), l.p(), verdict)
		}
	}
	if len(r.Metrics) > 0 {
		table(true)
		fmt.Fprintf(w, "\n%s\n", words.Markdown(r.Measured))
	}
	fmt.Fprintf(w, "\n<details><summary>%s against %s</summary>\n", runs(r.Head.Runs), runs(r.Base.Runs))
	if len(r.Metrics) > 0 {
		table(false)
		fmt.Fprintf(w, "\n%s\n", r.legend())
	}
	fmt.Fprintf(w, "\n- base: %s\n- head: %s\n", words.Markdown(sideLine(r.Base)), words.Markdown(sideLine(r.Head)))
	for _, n := range r.notes() {
		fmt.Fprintf(w, "- %s\n", words.Markdown(n))
	}
	_, err := fmt.Fprintln(w, "\n</details>")
	return err
}
