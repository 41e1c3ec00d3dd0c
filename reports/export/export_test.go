package export

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"locklab/ensembles/labtest/suite"
	"locklab/harness/check"
	"locklab/harness/check/evidence"
	"locklab/harness/history"
	"locklab/harness/rundir"
	"locklab/harness/scenario"
	"locklab/reports/internal/synth"
	"locklab/reports/junit"
	"locklab/reports/measure"
	"locklab/reports/result"
	"locklab/workloads"
)

// input judges a run.
func input(run *rundir.Run, facts evidence.Facts) result.Input {
	return result.NewInput(run, check.Run(run.Events, facts))
}

// runs are runs of all kinds.
func runs() map[string]result.Input {
	empty := rundir.Begun(&scenario.Scenario{Name: "nothing", Load: workloads.Load{Arrivals: workloads.Closed}})
	return map[string]result.Input{
		"damage":     input(synth.Act2Run(false)),
		"many":       input(synth.StormRun()),
		"read-write": input(synth.ReadWriteRun()),
		"semaphore":  input(synth.SemaphoreRun()),
		"empty":      input(empty, evidence.Facts{Partial: true}),
		"hostile":    hostile(),
	}
}

// evil is a name that would be a formula in a spreadsheet, end a label, a string or a cell, begin a line of its own, or
// be an element of a page.
const evil = `=HYPERLINK("http://x","y")` + "|\n" + `forged 1 } "` + `<img src=x onerror=alert(1)></script>\` + "`@ü"

// hostile is a run whose names are [evil].
func hostile() result.Input {
	run, facts := synth.Act2Run(false)
	var events []history.Event
	for _, e := range run.Events.All() {
		e.Client = strings.ReplaceAll(e.Client, "c1/1", "c1/"+evil)
		if e.Lock != "" {
			e.Lock = evil
		}
		if e.Op.IsFault() {
			step := e.FaultStep()
			step.Fault = evil
			kind, at, process := e.Kind, e.At, e.Process
			e = step.Event(kind)
			e.At, e.Process = at, process
		}
		events = append(events, e)
	}
	sc := *run.Scenario
	sc.Name, sc.Recipe = evil, evil
	return input(synth.RunOf(events, sc), facts)
}

// write returns a run in a format.
func write(t *testing.T, format string, in result.Input) []byte {
	t.Helper()
	f, err := Named(format)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := f.Write(&b, in); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// read gives a text to a program that reads its format, and returns what that prints. It skips the test where there is
// no such program, and fails it under CI.
func read(t *testing.T, text []byte, program string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), suite.Tool(t, program, "setup-readers"), args...)
	cmd.Stdin = bytes.NewReader(text)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s\nof\n%s", program, err, out, text)
	}
	return string(out)
}

// Every format can write every run, and has a line in the manual's table.
func TestEveryFormatWritesEveryRun(t *testing.T) {
	for name, in := range runs() {
		for _, f := range Formats() {
			b := write(t, f.Name, in)
			if len(b) == 0 && name != "empty" {
				t.Errorf("%s: %s is empty", name, f.Name)
			}
			if f.Has == "" || f.For == "" || f.Reader == "" {
				t.Errorf("%s does not say what it has and for whom", f.Name)
			}
		}
	}
	if _, err := Named("pdf"); err == nil || !strings.Contains(err.Error(), "edn, jsonl, trace, csv") {
		t.Errorf("an unknown format: %v", err)
	}
}

// Prometheus' own tool reads the numbers, and finds nothing wrong with their names.
func TestPrometheus(t *testing.T) {
	for name, in := range runs() {
		t.Run(name, func(t *testing.T) {
			text := write(t, "prometheus", in)
			if said := read(t, text, "promtool", "check", "metrics"); said != "" {
				t.Errorf("promtool says\n%s", said)
			}
			r := &in.Result
			scenario := labelEscapes.Replace(r.Scenario)
			wants := []string{fmt.Sprintf("locklab_run_partial{scenario=\"%s\"} %g\n", scenario, one(r.Partial))}
			if rate := r.Throughput.AcquiredPerS; rate != nil {
				wants = append(wants, fmt.Sprintf("locklab_acquired_per_second{scenario=\"%s\"} %s\n", scenario,
					strconv.FormatFloat(*rate, 'g', -1, 64)))
			}
			if p := r.Latency.Acquire.P50Ns; p != nil {
				wants = append(wants, fmt.Sprintf("{scenario=\"%s\",phase=\"acquire\",quantile=\"0.5\"} %s\n", scenario,
					strconv.FormatFloat(float64(*p)/1e9, 'g', -1, 64)))
			}
			for _, want := range wants {
				if !bytes.Contains(text, []byte(want)) {
					t.Errorf("%q is not in\n%s", want, text)
				}
			}
			for _, c := range r.Checks {
				judged := c.Result != evidence.NotApplicable && c.Result != evidence.Unknown
				sampled := bytes.Contains(text, []byte(`,check="`+c.Name+`",`))
				if c.Expected == evidence.ExpectPass && judged != sampled {
					t.Errorf("check %s, which found %s, has a sample: %v", c.Name, c.Result, sampled)
				}
			}
			for line := range strings.Lines(string(text)) {
				if !strings.HasPrefix(line, "locklab_") && !strings.HasPrefix(line, "# ") {
					t.Errorf("a line that a name made: %q", line)
				}
			}
		})
	}
}

// A reader of CSV finds each grant in its second, and no cell that a spreadsheet would carry out.
func TestCSV(t *testing.T) {
	for name, in := range runs() {
		rows, err := csv.NewReader(bytes.NewReader(write(t, "csv", in))).ReadAll()
		if err != nil || !slices.Equal(rows[0], csvHeader) {
			t.Errorf("%s: %q, %v", name, rows, err)
			continue
		}
		granted, want, named := 0, 0, false
		for i := range in.Acquisitions {
			if in.Acquisitions[i].Granted() {
				want++
			}
		}
		for i, row := range rows[1:] {
			n, err := strconv.Atoi(row[2])
			if err != nil || row[0] != strconv.Itoa(i) {
				t.Errorf("%s: row %d is %q: %v", name, i, row, err)
			}
			granted += n
			for _, cell := range row {
				if cell != "" && strings.ContainsAny(cell[:1], "=+-@") {
					t.Errorf("%s: a spreadsheet takes %q for a formula", name, cell)
				}
				named = named || strings.HasPrefix(cell, "'"+evil)
			}
		}
		if granted != want || named != (name == "hostile") {
			t.Errorf("%s: %d grants, want %d; the hostile name is shown: %v", name, granted, want, named)
		}
	}
}

// A reader of tests' results counts what failed and what came to no result.
func TestJUnit(t *testing.T) {
	applied := true // every check, to every run
	for name, in := range runs() {
		t.Run(name, func(t *testing.T) {
			text := write(t, "junit", in)
			var doc junit.Document
			if err := xml.Unmarshal(text, &doc); err != nil {
				t.Fatal(err)
			}
			failures, errors, skipped := 0, 0, 0
			outcomes := []evidence.Result{in.Result.Verdict}
			for _, c := range in.Result.Checks {
				outcomes = append(outcomes, c.Outcome)
				if c.Idle() {
					skipped++
					applied = false
				}
			}
			for _, o := range outcomes {
				switch o {
				case evidence.Fail:
					failures++
				case evidence.Unknown:
					errors++
				}
			}
			want := fmt.Sprintf("%d %d %d %d\n", len(outcomes), failures, errors, skipped)
			got := fmt.Sprintf("%d %d %d %d\n", doc.Tests, doc.Failures, doc.Errors, doc.Skipped)
			if got != want {
				t.Errorf("counts %q, want %q", got, want)
			}
			const count = "import sys, junitparser\n" +
				"cases = [c for s in junitparser.JUnitXml.fromstring(sys.stdin.buffer.read()) for c in s]\n" +
				"kinds = [type(r) for c in cases for r in c.result]\n" +
				"print(len(cases), kinds.count(junitparser.Failure), kinds.count(junitparser.Error), " +
				"kinds.count(junitparser.Skipped))\n"
			if got := read(t, text, "/usr/bin/python3", "-c", count); got != want {
				t.Errorf("junitparser counts %q, want %q", got, want)
			}
		})
	}
	if applied {
		t.Error("no run has a check that does not apply")
	}
}

// A renderer of GitHub's Markdown makes a row of each check, and no element of any name.
func TestMarkdown(t *testing.T) {
	for name, in := range runs() {
		t.Run(name, func(t *testing.T) {
			page := read(t, write(t, "markdown", in), "cmark-gfm", "--unsafe", "-e", "table", "-e", "autolink")
			doc, err := html.Parse(strings.NewReader(page))
			if err != nil {
				t.Fatal(err)
			}
			rows := 0
			for n := range doc.Descendants() {
				if n.Type != html.ElementNode {
					continue
				}
				if n.Data == "tr" {
					rows++
				}
				if slices.Contains([]string{"img", "script", "code", "a"}, n.Data) {
					t.Errorf("a name made a <%s> in\n%s", n.Data, page)
				}
			}
			if least := len(in.Result.Checks) + 5; rows < least {
				t.Errorf("%d rows, want at least %d:\n%s", rows, least, page)
			}
		})
	}
}

// The trace has what its format demands, by the document that describes it, and everything that happened.
func TestTrace(t *testing.T) {
	for name, in := range runs() {
		t.Run(name, func(t *testing.T) {
			var trace struct {
				DisplayTimeUnit string
				TraceEvents     []struct {
					Name, Cat, Ph, S string
					Ts, Dur          *float64
					Pid, Tid         *int
					Args             map[string]any
				}
			}
			dec := json.NewDecoder(bytes.NewReader(write(t, "trace", in)))
			if err := dec.Decode(&trace); err != nil {
				t.Fatal(err)
			}
			type thread struct{ pid, tid int }
			named, busy, n := map[thread]bool{}, map[thread][][2]float64{}, map[string]int{}
			for _, e := range trace.TraceEvents {
				if e.Name == "" || e.Ts == nil || e.Pid == nil || e.Tid == nil {
					t.Fatalf("an event without name, time, process or thread: %+v", e)
				}
				at := thread{*e.Pid, *e.Tid}
				switch e.Ph {
				case "M":
					if e.Name != "process_name" && e.Name != "thread_name" || e.Args["name"] == "" {
						t.Errorf("metadata %+v", e)
					}
					named[at] = named[at] || e.Name == "thread_name"
				case "X":
					if e.Dur == nil || *e.Dur < 0 {
						t.Errorf("a span without an end: %+v", e)
					}
					n[e.Cat]++
					busy[at] = append(busy[at], [2]float64{*e.Ts, *e.Ts + *e.Dur})
				case "i":
					n[e.Cat]++
					if e.S != "g" {
						t.Errorf("an instant of scope %q", e.S)
					}
				default:
					t.Errorf("a phase %q", e.Ph)
				}
			}
			for at, spans := range busy {
				if !named[at] {
					t.Errorf("thread %v has no name", at)
				}
				slices.SortFunc(spans, func(a, b [2]float64) int { return slices.Compare(a[:], b[:]) })
				for i := range spans[:len(spans)-1] {
					if spans[i+1][0] < spans[i][1]-0.001 {
						t.Errorf("spans of thread %v overlap: %v and %v", at, spans[i], spans[i+1])
					}
				}
			}
			holds := 0
			for i := range in.Acquisitions {
				if in.Acquisitions[i].Granted() {
					holds++
				}
			}
			if n["hold"] != holds || n["wait"] != len(in.Acquisitions) || n["fault"] != len(measure.FaultSpans(in.Events)) {
				t.Errorf("%v, want %d waits and %d holds", n, len(in.Acquisitions), holds)
			}
		})
	}
}
