package compare

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"text/template"

	"locklab/harness/rundir"
	"locklab/reports/words"
)

// shown reports whether a table has a row for the metric.
func (l *Line) shown() bool { return l.Gates || l.Verdict != NotMeasured }

// notes are what a reader has to know besides the table.
func (r *Report) notes() []string {
	var all []string
	for _, m := range r.Mismatches {
		all = append(all, fmt.Sprintf("differs, as %s: %s", m.Why, m))
	}
	for _, w := range r.Warnings {
		all = append(all, "warning: "+w)
	}
	return all
}

func sideLine(s SideInfo) string {
	line := fmt.Sprintf("%s, %s", s.Name, runs(s.Runs))
	if s.Locklab != "" {
		line += ", locklab " + s.Locklab
	}
	if s.Clients != "" {
		line += ", clients of " + s.Clients
	}
	if s.Lock != "" {
		line += ", lock " + s.Lock
	}
	return line
}

// legend explains the table.
func (r *Report) legend() string {
	how := "p of a change beyond, by Mann-Whitney"
	if r.Paired {
		how = "p of a change beyond, pair by pair, by Wilcoxon's signed ranks"
	}
	return fmt.Sprintf("Medians over runs; ratio head/base with its %s interval (Hodges-Lehmann). A loss passes if its "+
		"interval is within what is tolerated, and fails if it is beyond; %s, after Holm over the metrics that gate. "+
		"(In brackets: the verdict does not depend on it.)", words.Share(r.Confidence), how)
}

// cells are the texts of a metric's row between its name and its verdict.
func (l *Line) cells() []string {
	return []string{amount(l.BaseMedian, l.Unit), amount(l.HeadMedian, l.Unit), l.ratio(), l.tolerated(), l.p()}
}

//go:embed text.tmpl markdown.tmpl
var layouts embed.FS

// layout has the forms of a report for people.
var layout = template.Must(template.New("report").Funcs(template.FuncMap{"side": sideLine, "runs": runs,
	"md":     words.Markdown,
	"shown":  func(l Line) bool { return l.shown() },
	"cells":  func(l Line) []string { return l.cells() },
	"rows":   func(r Report, gates bool) []string { return r.rows(gates) },
	"notes":  func(r Report) []string { return r.notes() },
	"legend": func(r Report) string { return r.legend() },
	"saw":    func(r Report) string { return r.seen(path.Join(r.Saw, rundir.ReportFile)) },
}).ParseFS(layouts, "*.tmpl"))

// writeText writes a table for a terminal.
func writeText(w *bytes.Buffer, r Report) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	if err := layout.ExecuteTemplate(t, "text.tmpl", r); err != nil {
		return err
	}
	return t.Flush()
}

// Page returns the address at which people find a file of the present job: the file itself among the artifacts of
// GitLab's job, or the page of GitHub's run, where the artifacts are archives. Env returns the variables that both set
// for their jobs. It is empty elsewhere.
func Page(env func(string) string, file string) string {
	job, run := env("CI_JOB_URL"), env("GITHUB_RUN_ID")
	switch {
	case env("GITLAB_CI") == "true" && job != "" && filepath.IsLocal(file):
		return job + "/artifacts/file/" + escaped(file)
	case env("GITHUB_ACTIONS") == "true" && run != "":
		return env("GITHUB_SERVER_URL") + "/" + env("GITHUB_REPOSITORY") + "/actions/runs/" + run + "#artifacts"
	}
	return ""
}

// escaped is a path as a link has it.
func escaped(file string) string {
	return strings.NewReplacer("(", "%28", ")", "%29").Replace((&url.URL{Path: filepath.ToSlash(file)}).EscapedPath())
}

// seen says in Markdown where a file is, as a link.
func (r Report) seen(file string) string {
	if strings.HasSuffix(r.Page, "#artifacts") {
		return fmt.Sprintf("%s among [the artifacts of this run](%s)", words.Markdown(file), r.Page)
	}
	address := r.Page
	if address == "" {
		address = escaped(file)
	}
	return fmt.Sprintf("[%s](%s)", words.Markdown(file), address)
}

// formats are the formats of a report, by name.
var formats = map[string]func(*bytes.Buffer, Report) error{
	"text": writeText, "markdown": writeMarkdown, "json": writeJSON, "junit": writeJUnit, "github": writeGitHub,
}

// formatNames lists the names of the formats.
func formatNames() []string { return slices.Sorted(maps.Keys(formats)) }

// Render writes a report: as text for a person, as Markdown for a pull request, as JSON for scripts, as the XML of
// JUnit for tools that collect tests, or as the workflow commands by which GitHub annotates a run. An unknown format
// is an error that wraps [ErrInput].
func Render(format string, r Report) ([]byte, error) {
	if err := CheckFormat(format); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := formats[format](&b, r); err != nil {
		return nil, fmt.Errorf("write %s: %w", format, err)
	}
	return b.Bytes(), nil
}

func writeJSON(w *bytes.Buffer, r Report) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(r)
}

// CheckFormat refuses an unknown format. The error wraps [ErrInput].
func CheckFormat(format string) error {
	if _, ok := formats[format]; !ok {
		return fmt.Errorf("%w: no format %q; there are %s", ErrInput, format, strings.Join(formatNames(), ", "))
	}
	return nil
}
