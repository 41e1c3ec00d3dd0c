package runpage

import (
	"bytes"
	"encoding/json"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"locklab/harness/check"
	"locklab/harness/check/evidence"
	"locklab/harness/history"
	"locklab/harness/rundir"
	"locklab/harness/scenario"
	"locklab/reports/internal/synth"
	"locklab/reports/result"
	"locklab/workloads"
)

// explained matches the tags around a term that is explained.
var explained = regexp.MustCompile(`</?abbr[^>]*>`)

func Input(run *rundir.Run, facts evidence.Facts) result.Input {
	return result.NewInput(run, check.Run(run.Events, facts))
}

// closed is a run of the events in a closed loop.
func closed(events []history.Event) *rundir.Run {
	return synth.RunOf(events, scenario.Scenario{Load: workloads.Load{Arrivals: workloads.Closed}})
}

func TestGoldenResult(t *testing.T) {
	for name, in := range map[string]result.Input{"result.json": result.NewInput(synth.JudgedRun()),
		"result-empty.json": emptyInput()} {
		b, err := json.MarshalIndent(in.Result, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		golden(t, name, append(b, '\n'))
	}
}

// Every name that the contract of result.json promises is there, and absent data is null.
func TestResultKeepsItsContract(t *testing.T) {
	b, err := json.Marshal(emptyInput().Result)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]any{
		"schema_version": 1.0, "partial": true, "verdict": "unknown", "safety.unbacked_grants": nil,
		"safety.lost_updates": nil,
		"operations.acquired": 0.0, "operations.timed_out": 0.0, "operations.failed": 0.0, "operations.unknown": 0.0,
		"operations.censored":       0.0,
		"throughput.acquired_per_s": nil, "latency.acquire.count": 0.0, "latency.acquire.p50_ns": nil,
		"latency.acquire.p90_ns": nil,
		"latency.acquire.p99_ns": nil, "latency.acquire.p999_ns": nil, "latency.acquire.max_ns": nil,
		"latency.handoff.p50_ns": nil, "latency.hold.max_ns": nil,
		"latency.release.count": 0.0, "server.requests_per_acquire": nil, "server.watches_fired_per_release": nil,
		"fairness.jain": nil, "fairness.gini": nil, "fairness.fifo_inversions": nil, "fairness.max_bypass": nil,
		"fairness.starved_clients": nil,
	} {
		var v any = got
		for key := range strings.SplitSeq(path, ".") {
			m, _ := v.(map[string]any)
			x, ok := m[key]
			if !ok {
				t.Fatalf("%s is missing", path)
			}
			v = x
		}
		if v != want {
			t.Errorf("%s = %v, want %v", path, v, want)
		}
	}
	for _, list := range []string{"warnings", "checks", "faults"} {
		if _, ok := got[list].([]any); !ok {
			t.Errorf("%s is %v, want a list", list, got[list])
		}
	}
}

func emptyInput() result.Input {
	run := rundir.Begun(&scenario.Scenario{Name: "nothing", Load: workloads.Load{Arrivals: workloads.Closed}})
	run.Interrupted = true
	return result.NewInput(run, check.Report{Verdict: evidence.Unknown})
}

// embedded is what a page consists of besides its text.
var embedded = regexp.MustCompile(`(?s)(<svg|<style>|<script>).*?(</svg>|</style>|</script>)`)

func TestGoldenPictureAndPage(t *testing.T) {
	dir := t.TempDir()
	in := result.NewInput(synth.JudgedRun())
	if err := Render(dir, in); err != nil {
		t.Fatal(err)
	}
	golden(t, "timeline.svg", read(t, filepath.Join(dir, "plots", "timeline.svg")))
	page := read(t, filepath.Join(dir, "report.html"))
	golden(t, "report.html", embedded.ReplaceAll(page, []byte("$1…$2")))
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Every kind of history gives a page that is whole and needs nothing else.
func TestEveryHistoryGivesAPage(t *testing.T) {
	cut := func(in result.Input, at float64) result.Input {
		all := in.Events.Events()
		i := slices.IndexFunc(all, func(e history.Event) bool { return e.At > synth.Ms(at) })
		run := synth.RunOf(all[:i], *in.Scenario)
		run.Partial = true
		return Input(run, evidence.Facts{Tokens: true, Queue: true, Exclusive: true, Partial: true})
	}
	one := &synth.Synth{}
	one.Phase(0, history.PhaseMeasure)
	one.Acquire(synth.Acq{Client: "c1/1", N: 1, Token: 1, Invoke: 10, Granted: 10, Release: 10}) // in no time at all
	late := append(one.Sorted(), history.Event{At: math.MaxInt64, Process: "c1", Op: history.OpSnapshot})
	never := &synth.Synth{}
	never.Phase(0, history.PhaseMeasure)
	never.Acquire(synth.Acq{Client: "c1/1", N: 1, Invoke: 10})
	never.Phase(100, history.PhaseDrain)
	warm := &synth.Synth{}
	warm.Phase(0, history.PhaseWarmup)
	warm.Acquire(synth.Acq{Client: "c1/1", N: 1, Token: 1, Invoke: 10, Granted: 20, Release: 30})
	fails := &synth.Synth{}
	fails.Phase(0, history.PhaseMeasure)
	for n := range 3 {
		claim := history.Claim{Client: "c1/1", Acq: int64(n + 1), Lock: "l"}
		fails.Add(float64(10*n), claim.Acquire())
		fails.Add(float64(10*n+1), claim.NotGranted(history.FailError, "zk: <node> does not exist"))
	}
	for name, c := range map[string]struct {
		in       result.Input
		pictures int
		says     string
	}{
		"the demonstration":      {Input(synth.Act2Run(false)), 5, "accepted one outdated access"},
		"empty":                  {emptyInput(), 0, "No client got a lock."},
		"broke off while paused": {cut(Input(synth.Act2Run(false)), 2000), 4, "partial run"},
		"broke off early":        {cut(Input(synth.Act2Run(false)), 300), 0, "No client got a lock."},
		"one grant in no time":   {Input(closed(one.Sorted()), evidence.Facts{}), 3, "Key numbers"},
		"the end of time":        {Input(closed(late), evidence.Facts{}), 3, "Key numbers"},
		"nobody got it":          {Input(closed(never.Sorted()), evidence.Facts{}), 0, "1 still waited"},
		"all failed":             {Input(closed(fails.Sorted()), evidence.Facts{}), 1, "<li>3 × zk: &lt;node&gt; does not"},
		"only warm-up":           {Input(closed(warm.Sorted()), evidence.Facts{}), 3, "never reached"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := Render(dir, c.in); err != nil {
				t.Fatal(err)
			}
			pngs, _ := filepath.Glob(filepath.Join(dir, "plots", "*.png"))
			svgs, _ := filepath.Glob(filepath.Join(dir, "plots", "*.svg"))
			if len(pngs) != c.pictures || len(svgs) != c.pictures {
				t.Errorf("%d PNG and %d SVG, want %d of each: %v", len(pngs), len(svgs), c.pictures, pngs)
			}
			for _, f := range pngs {
				cfg, err := png.DecodeConfig(bytes.NewReader(read(t, f)))
				if err != nil || cfg.Width != 1440 {
					t.Errorf("%s: %d pixels wide, %v", f, cfg.Width, err)
				}
			}
			for _, f := range svgs {
				if b := read(t, f); bytes.Contains(b, []byte("NaN")) || bytes.Contains(b, []byte("Inf")) {
					t.Errorf("%s has a place that is no number", f)
				}
			}
			page := read(t, filepath.Join(dir, "report.html"))
			if !bytes.Contains(explained.ReplaceAll(page, nil), []byte(c.says)) {
				t.Errorf("the page does not say %q", c.says)
			}
			for _, bad := range []string{"%!", "&lt;nil&gt;", "NaN", "ZgotmplZ", "0xc0"} {
				if bytes.Contains(page, []byte(bad)) {
					t.Errorf("the page has %q in it", bad)
				}
			}
			selfContained(t, page)
			if left, _ := filepath.Glob(filepath.Join(dir, "*", ".tmp-*")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// selfContained fails for anything that a browser would fetch or run.
func selfContained(t *testing.T, page []byte) {
	t.Helper()
	doc, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for n := range doc.Descendants() {
		for _, a := range n.Attr {
			if a.Key == "id" && ids[a.Val] {
				t.Errorf("two elements are #%s", a.Val)
			}
			ids[a.Val] = ids[a.Val] || a.Key == "id"
		}
	}
	scripts := 0
	for n := range doc.Descendants() {
		if n.Type == html.TextNode && n.Parent != nil && n.Parent.Data == "style" &&
			(strings.Contains(strings.ReplaceAll(n.Data, "url(#hatch)", ""), "url(") || strings.Contains(n.Data, "@import")) {
			t.Errorf("a style refers to something outside")
		}
		if n.Type != html.ElementNode {
			continue
		}
		if n.Data == "script" {
			if scripts++; scripts > 1 || len(n.Attr) > 0 || n.FirstChild.Data != script {
				t.Errorf("a script that is not the page's own")
			}
		}
		if slices.Contains([]string{"link", "iframe", "object", "embed", "base"}, n.Data) {
			t.Errorf("the page has a <%s>", n.Data)
		}
		for _, a := range n.Attr {
			if a.Key == "href" && strings.HasPrefix(a.Val, "#") {
				if !ids[a.Val[1:]] {
					t.Errorf("<%s> leads to %s, which is not there", n.Data, a.Val)
				}
				continue
			}
			if a.Key == "src" || a.Key == "href" || a.Key == "srcset" || strings.Contains(a.Val, "//") ||
				strings.Contains(a.Val, "url(") || strings.HasPrefix(a.Key, "on") {
				t.Errorf("<%s %s=%q> refers to something outside", n.Data, a.Key, a.Val)
			}
		}
	}
}

// A later report without a picture takes the old one away.
func TestRenderRemovesWhatItDoesNotDraw(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "plots"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"timeline.png", "timeline.svg"} {
		if err := os.WriteFile(filepath.Join(dir, "plots", name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := Render(dir, emptyInput()); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "plots", "*")); len(left) != 0 {
		t.Errorf("old pictures are left: %v", left)
	}
}
