package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"locklab/chaos"
	"locklab/harness/check"
	"locklab/harness/check/counters"
	"locklab/harness/scenario"
	"locklab/recipes/broken"
	"locklab/reports/chart"
	"locklab/reports/export"
	"locklab/reports/figures"
	"locklab/reports/gatecurve"
	"locklab/reports/result"
	"locklab/workloads"
	"locklab/workloads/guard"
	"locklab/workloads/lock"
)

var update = flag.Bool("update", false, "rewrite the sections of the manuals that are generated")

// maxWords is the most words that README.md may have, counted as wc -w does. Readers who have to scroll past text that
// they do not need stop reading.
const maxWords = 1500

// allWords is the most words that the manuals may have together. A manual says how to use a thing, what to expect and
// what it does not do; reports/measurements has how a figure was measured, and recipes/SPEC.md what each lock does.
const allWords = 22_000

// The manuals can be read by somebody who has other things to do.
func TestReadmesAreShort(t *testing.T) {
	n := 0
	for _, manual := range manuals(t) {
		n += len(strings.Fields(readManual(t, manual)))
	}
	if n > allWords {
		t.Errorf("the manuals have %d words; at most %d", n, allWords)
	}
}

// manuals are the README.md files, by their paths from the root.
func manuals(t *testing.T) []string {
	t.Helper()
	all := []string{"README.md"}
	for _, dir := range []string{"recipes", "ensembles", "workloads", "chaos", "harness", "reports"} {
		all = append(all, dir+"/README.md")
	}
	return all
}

func readManual(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root(t), name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestReadmeIsShort(t *testing.T) {
	if n := len(strings.Fields(readManual(t, "README.md"))); n > maxWords {
		t.Errorf(
			"README.md has %d words; at most %d. Move what only some readers need to a folder's README.md",
			n,
			maxWords,
		)
	}
}

// The examples of a gate's verdict are copied from what compare prints about a recorded benchmark. README.md shows the
// metrics that decide, and the manual shows the comment on a pull request without its folded parts.
func TestReadmeShowsTheGate(t *testing.T) {
	base, head := filepath.Join(recordings, "slow/base"), filepath.Join(recordings, "slow/head")
	_, text, _ := runCLI(t, "compare", base, head)
	var table strings.Builder
	table.WriteString("```\n")
	for line := range strings.Lines(text[strings.Index(text, "\nmetric")+1:]) {
		if strings.TrimSpace(line) == "" {
			break
		}
		if !strings.HasSuffix(line, ")\n") { // the text in brackets may differ
			table.WriteString(line)
		}
	}
	inManual(t, "README.md", "a regression", table.String()+"```\n")

	_, markdown, _ := runCLI(t, "compare", base, head, "--format", "markdown")
	comment, _, folded := strings.Cut(markdown, "\n<details>")
	if !folded {
		t.Fatalf("nothing is folded away in %s", markdown)
	}
	var quoted strings.Builder
	for line := range strings.Lines(comment) {
		quoted.WriteString(strings.TrimRight("> "+line, " \n") + "\n")
	}
	inManual(t, "reports/README.md", "a comment", quoted.String())
}

// The manual has the table and the picture of how often the gate is right, made of the comparisons that are kept.
func TestReadmeShowsTheGateCurve(t *testing.T) {
	f, err := os.Open(filepath.Join(root(t), "reports/gatecurve/testdata/comparisons.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	records, err := gatecurve.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := gatecurve.Rows(records)
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	if err := gatecurve.Table(&table, rows); err != nil {
		t.Fatal(err)
	}
	text := table.String()
	if shown := drawn(t, gatecurve.Figure(rows), "reports", "../"); shown != "" {
		text += "\n" + shown
	}
	inManual(t, "reports/measurements/gate.md", "gate curve", text)
}

// The measured tables of the manuals are made of stored records, so that no figure is typed.
func TestReadmeShowsTheFigures(t *testing.T) {
	for i := range figures.All {
		f := &figures.All[i]
		records, err := f.Read(root(t))
		if err != nil {
			t.Fatal(err)
		}
		var table strings.Builder
		if err := f.Table(&table, records); err != nil {
			t.Fatal(err)
		}
		if f.Across != "" {
			picture, err := f.Picture(records)
			if err != nil {
				t.Fatal(err)
			}
			table.WriteString("\n" + drawn(t, picture, "reports/measurements/", ""))
		}
		inManual(t, f.Manual, "figures "+f.Name, table.String())
	}
}

// drawn requires that a picture is up to date in a directory of the project, and returns the text by which a manual
// shows it, for which the file is at that place.
func drawn(t *testing.T, f chart.Figure, dir, at string) string {
	t.Helper()
	picture, err := f.Render()
	if err != nil {
		t.Fatal(err)
	}
	if picture.SVG == nil {
		return ""
	}
	file := filepath.Join(root(t), dir, picture.Name+".svg")
	if *update {
		if err := os.WriteFile(file, picture.SVG, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, picture.SVG) {
		t.Errorf("%s is out of date, %v; -update redraws it", file, err)
	}
	return fmt.Sprintf("![%s](%s%s.svg)\n\n%s\n", picture.Title, at, picture.Name, picture.Caption)
}

// The manual has what came of trying each version of ZooKeeper.
func TestReadmeShowsTheVersions(t *testing.T) {
	trials, err := figures.ReadTrials(root(t))
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	if err := figures.TrialTable(&table, trials); err != nil {
		t.Fatal(err)
	}
	inManual(t, "reports/measurements/versions.md", "versions", table.String())
}

// The manual lists every built-in scenario with the reader whom it serves and its question.
func TestReadmeListsTheScenarios(t *testing.T) {
	all, err := scenario.Builtins(workloads.Builtin)
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	want.WriteString("| reader | scenario | question |\n|---|---|---|\n")
	for _, g := range scenario.ByAnswer(all) {
		who, _, _ := strings.Cut(g.Question, ":")
		for _, s := range g.Scenarios {
			fmt.Fprintf(&want, "| %s | `%s` | %s |\n", who, s.Name, s.About)
			who = ""
		}
	}
	inManual(t, "workloads/README.md", "built-in scenarios", want.String())
}

// The manual lists every kind of fault, what it does and how that is verified.
func TestReadmeListsTheFaults(t *testing.T) {
	var want strings.Builder
	want.WriteString("| family | fault | targets | what is done | how it is verified |\n|---|---|---|---|---|\n")
	family := ""
	for _, k := range chaos.Kinds() {
		name := k.Family
		if name == family {
			name = ""
		}
		family = k.Family
		fmt.Fprintf(&want, "| %s | `%s` | %s | %s | %s |\n", name, k.Name, k.Targets, k.Does, k.Verified)
	}
	inManual(t, "chaos/README.md", "faults", want.String())
}

// The manual lists and describes every recipe except the negative controls.
func TestReadmeListsTheRecipes(t *testing.T) {
	command, _ := lock.Find(lock.ExecPrefix + "CMD")
	var want strings.Builder
	want.WriteString("| recipe | workloads | what it is |\n|---|---|---|\n")
	for _, r := range append(lock.All(), command) {
		if r.Control {
			continue
		}
		serves := "`" + strings.Join(r.Workloads, "`, `") + "`"
		if len(r.Workloads) == len(workloads.All) {
			serves = "all"
		}
		fmt.Fprintf(&want, "| `%s` | %s | %s |\n", r.Name, serves, r.About)
	}
	inManual(t, "recipes/README.md", "recipes", want.String())
}

// The manual lists every guard with its cost and the accesses that get past it.
func TestReadmeListsTheGuards(t *testing.T) {
	var want strings.Builder
	want.WriteString("| guard | how it protects the data | what it costs | what still gets through |\n|---|---|---|---|\n")
	for _, g := range guard.All {
		fmt.Fprintf(&want, "| `%s` | %s | %s | %s |\n", g.Name, g.Protects, g.Costs, g.Passes)
	}
	inManual(t, "recipes/README.md", "guards", want.String())
}

// The manual lists every known bug, what makes it show, and the check that must catch it.
func TestReadmeListsTheKnownBugs(t *testing.T) {
	var want strings.Builder
	want.WriteString("| bug | recipe | what is broken | known from | what makes it show | caught by |\n")
	want.WriteString("|---|---|---|---|---|---|\n")
	for _, l := range broken.Known() {
		b := listed(l)
		finding := l.Finding
		if l.Builtin != "" {
			finding += "; in `" + l.Builtin + "`"
		}
		fmt.Fprintf(&want, "| `%s` | `%s` | %s | %s | %s | `%s`: %s |\n", b.Name, b.Recipe, b.Bug, b.Source, b.Trigger,
			b.Check, finding)
	}
	inManual(t, "reports/measurements/gallery.md", "known bugs", want.String())
}

// The manual lists every check and every counter of damage.
func TestReadmeListsTheChecks(t *testing.T) {
	var checks, rows strings.Builder
	checks.WriteString("| check | question |\n|---|---|\n")
	for _, c := range check.All() {
		fmt.Fprintf(&checks, "| `%s` | %s |\n", c.Name, sentence(c.Asks))
	}
	rows.WriteString("| number | what it counts | check |\n|---|---|---|\n")
	for _, c := range counters.All() {
		fmt.Fprintf(&rows, "| `%s` | %s | `%s` |\n", c.Name, c.Means, c.Check)
	}
	inManual(t, "harness/README.md", "checks", checks.String())
	inManual(t, "harness/README.md", "counters", rows.String())
}

// The manual lists every condition of sometimes.
func TestReadmeListsTheConditions(t *testing.T) {
	var want strings.Builder
	want.WriteString("| condition | what must happen at least once |\n|---|---|\n")
	for _, c := range check.Conditions() {
		fmt.Fprintf(&want, "| `%s` | %s |\n", c.Name, sentence(c.Means))
	}
	inManual(t, "workloads/README.md", "conditions", want.String())
}

// The manual lists every number that a threshold can name, by the part of result.json that it is in. Parts with the
// same numbers, as the latencies of all phases, share a line.
func TestReadmeListsTheNumbers(t *testing.T) {
	const single = "safety, throughput"
	var parts []string
	numbers := map[string]string{} // of a part
	for _, m := range result.Metrics() {
		part, number, dotted := strings.Cut(m.Name, ".")
		if !dotted {
			part, number = single, m.Name
		}
		if numbers[part] == "" {
			parts = append(parts, part)
		}
		numbers[part] += " `" + number + "`"
	}
	var lines []string
	alike := map[string][]string{} // the parts that have the same numbers
	for _, part := range parts {
		n := numbers[part]
		if alike[n] == nil {
			lines = append(lines, n)
		}
		alike[n] = append(alike[n], part)
	}
	var want strings.Builder
	want.WriteString("| part | number |\n|---|---|\n")
	for _, n := range lines {
		part := "`" + strings.Join(alike[n], ".` `") + ".`"
		if alike[n][0] == single {
			part = single
		}
		fmt.Fprintf(&want, "| %s |%s |\n", part, n)
	}
	inManual(t, "reports/README.md", "numbers", want.String())
}

// The manual explains each number whose name does not. The counters of damage are listed with the checks.
func TestReadmeExplainsTheNumbers(t *testing.T) {
	var want strings.Builder
	want.WriteString("| number | meaning |\n|---|---|\n")
	for _, q := range result.Quantities() {
		means := strings.TrimPrefix(strings.TrimSuffix(q.Row+", "+q.Means, ", "), ", ")
		if means == "" || strings.HasPrefix(q.Path, "safety.") {
			continue
		}
		name, mark := q.Name(), " –"
		phase, isPhase := strings.CutSuffix(name, ".count")
		switch {
		case isPhase && strings.HasPrefix(q.Path, "latency."):
			name, mark = phase, "" // the distribution, not its count
		case q.Better == result.Lower:
			mark = ""
		case q.Better == result.Higher:
			mark = " ↑"
		}
		fmt.Fprintf(&want, "| `%s`%s | %s |\n", name, mark, means)
	}
	inManual(t, "reports/README.md", "meanings", want.String())
}

// The manual lists the formats of an export, with what each has and its readers.
func TestReadmeListsTheFormats(t *testing.T) {
	var want strings.Builder
	want.WriteString("| format | what it has | for | checked with |\n|---|---|---|---|\n")
	for _, f := range export.Formats() {
		fmt.Fprintf(&want, "| `%s` | %s | %s | %s |\n", f.Name, f.Has, f.For, f.Reader)
	}
	inManual(t, "reports/README.md", "formats", want.String())
}

// The manual lists the exit codes.
func TestReadmeListsTheExitCodes(t *testing.T) {
	var want strings.Builder
	want.WriteString("| exit | meaning |\n|---|---|\n")
	for _, code := range slices.Sorted(maps.Keys(exitMeanings)) {
		want.WriteString(fmt.Sprintf("| %d | %s |\n", code, exitMeanings[code]))
	}
	inManual(t, "harness/README.md", "exit codes", want.String())
}

// sentence writes the text with a capital letter and a full stop, unless it ends a sentence already.
func sentence(text string) string {
	text = strings.ToUpper(text[:1]) + text[1:]
	if !strings.ContainsAny(text[len(text)-1:], ".?!") {
		text += "."
	}
	return text
}

// schemaKey is a key of a scenario or of a fault, as the JSON Schema describes it.
type schemaKey struct {
	Description string `json:"description"`
	Default     any    `json:"default"`
	Enum        []any  `json:"enum"`
}

// The manuals list every key that the JSON Schema has.
func TestReadmeListsTheKeys(t *testing.T) {
	_, out, _ := runCLI(t, "scenarios", "schema")
	var schema struct {
		Properties map[string]schemaKey `json:"properties"`
		Defs       map[string]struct {
			Properties map[string]schemaKey `json:"properties"`
		} `json:"$defs"`
	}
	if err := json.Unmarshal([]byte(out), &schema); err != nil {
		t.Fatal(err)
	}
	var keys, faultKeys strings.Builder
	keys.WriteString("| key | default, others | meaning |\n|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		k := schema.Properties[name]
		var values []string // the default first
		if k.Default != nil {
			values = append(values, fmt.Sprintf("`%v`", k.Default))
		}
		for _, other := range k.Enum {
			if other != k.Default {
				values = append(values, fmt.Sprintf("`%v`", other))
			}
		}
		fmt.Fprintf(&keys, "| `%s` | %s | %s |\n", name, strings.Join(values, ", "), k.Description)
	}
	faultKeys.WriteString("| key of a fault | meaning |\n|---|---|\n")
	ofFaults := schema.Defs["fault"].Properties
	for _, name := range slices.Sorted(maps.Keys(ofFaults)) {
		fmt.Fprintf(&faultKeys, "| `%s` | %s |\n", name, ofFaults[name].Description)
	}
	inManual(t, "workloads/README.md", "keys", keys.String())
	inManual(t, "chaos/README.md", "fault keys", faultKeys.String())
}

// inManual compares the text with the manual's generated section of that name; -update puts the text there.
func inManual(t *testing.T, manual, section, want string) {
	t.Helper()
	begin := "<!-- " + section + ": generated by go test ./harness/cmd/locklab -run Readme -update -->\n"
	const end = "<!-- end -->\n"
	text := readManual(t, manual)
	before, rest, begins := strings.Cut(text, begin)
	got, after, ends := strings.Cut(rest, end)
	if !begins || !ends {
		t.Fatalf("%s has nothing between %q and %q", manual, begin, end)
	}
	if *update {
		if err := os.WriteFile(filepath.Join(root(t), manual), []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	// Of lists of lines, the difference shows whole lines.
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s is out of date (-want +got); -update rewrites it:\n%s", manual, diff)
	}
}
