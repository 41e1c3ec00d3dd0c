package reports

import (
	"bytes"
	"encoding/json"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"locklab/harness/check"
	"locklab/harness/history"
)

// fixedInput is the demonstration with verdicts written by hand, so that golden
// files do not depend on the words of the checks.
func fixedInput() Input {
	events := act2(false)
	acq := history.Acquisitions(events)
	rep := check.Report{
		Verdict: check.Pass,
		Checks: []check.Verdict{
			{Name: check.ServiceExclusion, Expected: check.ExpectPass, Result: check.NotApplicable, Summary: "the transaction logs were not read"},
			{Name: check.BeliefExclusion, Expected: check.ExpectFail, Result: check.Fail, Count: 1, Summary: "one overlap, explained",
				Findings: []check.Finding{{Kind: findingOverlap, Lock: theLock, At: ms(3300), Until: ms(3420), Clients: []string{"c1/1", "c2/1"}, Tokens: []int64{15, 16},
					Cause: "pause", Fault: "f1", Explained: true, Text: "c1/1 and c2/1 both believed that they held <the lock>", Events: events[:2]}}},
			{Name: check.Effect, Expected: check.ExpectFail, Result: check.Fail, Count: 1, Summary: "one update lost"},
			{Name: check.Fairness, Expected: check.ExpectPass, Result: check.Pass, Summary: "in order"},
		},
		Safety: check.Safety{Overlaps: new(int64(1)), OverlapsUnexplained: new(int64(0)), MaxOverlapNs: new(ms(120)), StaleAccepted: new(int64(1)), StaleRejected: new(int64(0)),
			LateAccepted: new(int64(0)), LostUpdates: new(int64(1)), FalseRejections: new(int64(0))},
		Faults: []check.FaultRecord{{ID: "f1", Kind: "pause", Target: "c1", RequestedNs: new(ms(1008)), InjectedNs: new(ms(1010)), Verified: true,
			HealedNs: new(ms(3900)), HealVerified: true}},
		Warnings: []string{"a warning of the checks"},
	}
	meta := Meta{Scenario: "paused-holder", About: "A holder is stopped for longer than its session lives.", Lab: "netns", Recipe: "mutex", Guard: "none", Seed: 7,
		Clients: 5, Processes: 5, Locks: 1, SessionTimeout: 2 * time.Second, Tick: 500 * time.Millisecond, Storage: "tmpfs", ZooKeeper: "3.8.0", Servers: 3,
		Drain: "finish", ClosedLoop: true, Environment: map[string]string{"kernel": "6.1"}, FinalValues: map[string]int64{theLock: 12}, Warnings: []string{"storage is tmpfs"}}
	return Input{Events: events, Acquisitions: acq, Report: rep, Result: Summarize(events, acq, rep, meta), Meta: meta}
}

func TestGoldenResult(t *testing.T) {
	for name, in := range map[string]Input{"result.json": fixedInput(), "result-empty.json": emptyInput()} {
		b, err := json.MarshalIndent(in.Result, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		golden(t, name, append(b, '\n'))
	}
}

// Every name that the contract of result.json promises is there, and absent data
// is null.
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
		"schema_version": 1.0, "partial": true, "verdict": "unknown", "safety.double_grants": nil, "safety.lost_updates": nil,
		"operations.acquired": 0.0, "operations.timed_out": 0.0, "operations.failed": 0.0, "operations.unknown": 0.0, "operations.censored": 0.0,
		"throughput.acquired_per_s": nil, "latency.acquire.count": 0.0, "latency.acquire.p50_ns": nil, "latency.acquire.p90_ns": nil,
		"latency.acquire.p99_ns": nil, "latency.acquire.p999_ns": nil, "latency.acquire.max_ns": nil, "latency.handoff.p50_ns": nil, "latency.hold.max_ns": nil,
		"latency.release.count": 0.0, "server.requests_per_acquire": nil, "server.watches_fired_per_release": nil,
		"fairness.jain": nil, "fairness.gini": nil, "fairness.fifo_inversions": nil, "fairness.max_bypass": nil, "fairness.starved_clients": nil,
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

func emptyInput() Input {
	meta := Meta{Scenario: "nothing", Partial: true, Interrupted: true}
	rep := check.Report{Verdict: check.Unknown}
	return Input{Report: rep, Result: Summarize(nil, nil, rep, meta), Meta: meta}
}

var pixels = regexp.MustCompile(`data:image/png;base64,[^"]+`)

func TestGoldenPictureAndPage(t *testing.T) {
	dir := t.TempDir()
	in := fixedInput()
	if err := Render(dir, in); err != nil {
		t.Fatal(err)
	}
	golden(t, "timeline.svg", read(t, filepath.Join(dir, "plots", "timeline.svg")))
	page := read(t, filepath.Join(dir, "report.html"))
	golden(t, "report.html", pixels.ReplaceAll(page, []byte("data:,")))
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
	cut := func(in Input, at float64) Input {
		i := slices.IndexFunc(in.Events, func(e history.Event) bool { return e.At > ms(at) })
		meta := in.Meta
		meta.Partial = true
		return input(in.Events[:i], check.Facts{Tokens: true, Queue: true, Exclusive: true, Partial: true}, meta)
	}
	one := &synth{}
	one.phase(0, history.PhaseMeasure)
	one.acquire(acq{client: "c1/1", n: 1, token: 1, invoke: 10, granted: 10, release: 10}) // in no time at all
	never := &synth{}
	never.phase(0, history.PhaseMeasure)
	never.acquire(acq{client: "c1/1", n: 1, invoke: 10})
	never.phase(100, history.PhaseDrain)
	warm := &synth{}
	warm.phase(0, history.PhaseWarmup)
	warm.acquire(acq{client: "c1/1", n: 1, token: 1, invoke: 10, granted: 20, release: 30})
	for name, c := range map[string]struct {
		in       Input
		pictures int
		says     string
	}{
		"the demonstration":      {act2Input(false), 5, "accepted one outdated access"},
		"empty":                  {emptyInput(), 0, "No acquisitions were recorded."},
		"broke off while paused": {cut(act2Input(false), 2000), 5, "partial run"},
		"broke off early":        {cut(act2Input(false), 300), 0, "No acquisitions were recorded."},
		"one grant in no time":   {input(one.sorted(), check.Facts{}, Meta{}), 4, "Key numbers"},
		"nobody got it":          {input(never.sorted(), check.Facts{}, Meta{}), 0, "1 still waited"},
		"only warm-up":           {input(warm.sorted(), check.Facts{}, Meta{}), 3, "never reached"},
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
			if !bytes.Contains(page, []byte(c.says)) {
				t.Errorf("the page does not say %q", c.says)
			}
			text := pixels.ReplaceAll(page, nil) // in which any letters may stand together
			for _, bad := range []string{"%!", "&lt;nil&gt;", "NaN", "ZgotmplZ", "0xc0"} {
				if bytes.Contains(text, []byte(bad)) {
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
	for n := range doc.Descendants() {
		if n.Type == html.TextNode && n.Parent != nil && n.Parent.Data == "style" && (strings.Contains(n.Data, "url(") || strings.Contains(n.Data, "@import")) {
			t.Errorf("a style refers to something outside")
		}
		if n.Type != html.ElementNode {
			continue
		}
		if slices.Contains([]string{"script", "link", "iframe", "object", "embed", "base"}, n.Data) {
			t.Errorf("the page has a <%s>", n.Data)
		}
		for _, a := range n.Attr {
			if n.Data == "img" && a.Key == "src" && strings.HasPrefix(a.Val, "data:image/png;base64,") {
				continue // the picture itself
			}
			if a.Key == "src" || a.Key == "href" || a.Key == "srcset" || strings.Contains(a.Val, "//") || strings.Contains(a.Val, "url(") || strings.HasPrefix(a.Key, "on") {
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
