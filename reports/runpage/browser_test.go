package runpage

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/go-cmp/cmp"

	"locklab/harness/check"
	"locklab/harness/history"
	"locklab/reports/internal/synth"
	"locklab/reports/result"
)

var (
	//go:embed testdata/audit.js
	auditScript string
	//go:embed testdata/collisions.js
	collisionsScript string
)

// A tab is a browser's tab, and what went wrong in it.
type tab struct {
	context.Context
	mu    sync.Mutex
	wrong []string
	asked []string // the addresses that were asked for
}

// openTab starts Chromium and opens a tab. It skips the test where there is no Chromium, and fails it under CI.
func openTab(t *testing.T) *tab {
	t.Helper()
	if testing.Short() {
		t.Skip("a browser is started")
	}
	path, err := exec.LookPath("chromium")
	if err != nil {
		if os.Getenv("REQUIRE_DOCKER") == "1" { // CI lacks nothing
			t.Fatal(err)
		}
		t.Skip("install chromium to run this test (make setup-chromium): ", err)
	}
	ctx, stop := chromedp.NewContext(t.Context(), chromedp.WithAllocatorOptions(chromedp.ExecPath(path),
		chromedp.NoSandbox, chromedp.UserDataDir(t.TempDir()), chromedp.WSURLReadTimeout(2*time.Minute)))
	t.Cleanup(stop)
	b := &tab{Context: ctx}
	err = chromedp.Listen(ctx, func(event any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			b.wrong = append(b.wrong, e.ExceptionDetails.Text)
		case *runtime.EventConsoleAPICalled:
			b.wrong = append(b.wrong, fmt.Sprintf("console.%s", e.Type))
		case *log.EventEntryAdded:
			b.wrong = append(b.wrong, e.Entry.Text)
		case *network.EventRequestWillBeSent:
			b.asked = append(b.asked, e.Request.URL)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// do performs actions.
func (b *tab) do(t *testing.T, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(b, steps...); err != nil {
		t.Fatal(err)
	}
}

// show renders a run's report and loads it with a width and a colour scheme.
func (b *tab) show(t *testing.T, in result.Input, width int64, scheme string) {
	t.Helper()
	dir := t.TempDir()
	if err := Render(dir, in); err != nil {
		t.Fatal(err)
	}
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme",
		Value: scheme}}}
	if _, err := chromedp.Call(b, emulation.SetEmulatedMedia, media); err != nil {
		t.Fatal(err)
	}
	b.do(t, chromedp.EmulateViewport(width, 900), chromedp.Navigate("file://"+filepath.Join(dir, "report.html")))
}

// eval evaluates an expression in the page.
func eval[T any](t *testing.T, b *tab, expression string) T {
	t.Helper()
	v, err := chromedp.Run(b, chromedp.Evaluate[T](expression))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// browsed are the runs whose pages are looked at in a browser.
func browsed() map[string]result.Input {
	broken := Input(synth.Act2Run(false))
	broken.Partial, broken.Interrupted = true, true
	broken.Result = result.Summarize(broken.Run, broken.Report)
	return map[string]result.Input{
		"damage":     Judged(synth.JudgedRun()),
		"many":       Input(synth.StormRun()),
		"read-write": Input(synth.ReadWriteRun()),
		"partial":    broken,
		"empty":      emptyInput(),
	}
}

// A page is legible for everybody at each width and in each colour scheme, fetches nothing, and has all its sections.
func TestBrowserPages(t *testing.T) {
	b := openTab(t)
	for name, in := range browsed() {
		t.Run(name, func(t *testing.T) {
			backgrounds := map[string]bool{}
			for _, scheme := range []string{"light", "dark"} {
				b.show(t, in, 1100, scheme)
				eval[bool](t, b, `document.querySelectorAll("details").forEach(d => d.open = true), true`)
				for _, width := range []int64{1100, 400} {
					b.do(t, chromedp.EmulateViewport(width, 900))
					if wide := eval[int64](t, b, "document.documentElement.scrollWidth"); wide > width {
						t.Errorf("%d px wide at %d px", wide, width)
					}
					if diff := cmp.Diff([]string{}, eval[[]string](t, b, auditScript)); diff != "" {
						t.Errorf("audit, %s, %d px (-want +got):\n%s", scheme, width, diff)
					}
				}
				backgrounds[eval[string](t, b, "getComputedStyle(document.body).backgroundColor")] = true
			}
			if len(backgrounds) != 2 {
				t.Errorf("backgrounds %v, want one for each colour scheme", backgrounds)
			}
			b.do(t, chromedp.EmulateViewport(1100, 900))
			for _, font := range []string{"", "monospace", "serif"} {
				eval[bool](t, b, fmt.Sprintf(`document.querySelectorAll(".plot text").forEach(e => e.style.fontFamily = %q), true`,
					font))
				if diff := cmp.Diff([]string{}, eval[[]string](t, b, collisionsScript)); diff != "" {
					t.Errorf("texts run together in font %q (-want +got):\n%s", font, diff)
				}
			}
			for _, id := range []string{"checks", "findings", "faults", "latency", "throughput", "fairness", "servers",
				"hiccups", "thresholds", "warnings", "numbers", "method", "environment", "reproduce"} {
				if !eval[bool](t, b, fmt.Sprintf("document.getElementById(%q)?.textContent.trim().length > 10", id)) {
					t.Errorf("section %s is missing or empty", id)
				}
			}
			if first := eval[string](t, b, `document.querySelector("main").firstElementChild.className`); in.Result.Partial !=
				(first == "partial") {
				t.Errorf("the report of a run whose partial is %v begins with %q", in.Result.Partial, first)
			}
		})
	}
	b.inert(t)
}

// The audit can fail: it finds what is done to a page that it passed.
func TestBrowserAuditFindsFaults(t *testing.T) {
	b := openTab(t)
	b.show(t, Judged(synth.JudgedRun()), 1100, "light")
	for _, c := range []struct{ harm, want string }{
		{`document.querySelector("th").removeAttribute("scope")`, "has no scope"},
		{`document.querySelector("caption").remove()`, "no caption"},
		{`document.querySelector("main").outerHTML = document.querySelector("main").innerHTML`, "0 main landmarks"},
		{`document.querySelector(".tools button").replaceChildren()`, ""}, // it still has a label
		{`document.querySelector(".tools button").setAttribute("aria-label", "")`, "has no name"},
		{`document.querySelector(".headline").style.color = "#999"`, "contrast 2."},
		{`document.querySelector("#plot-timeline text").style.fill = "#999"`, "contrast 2.85"},
		{`document.querySelector("h2").outerHTML = "<h4>x</h4>"`, "h4 x follows h1"},
		{`document.querySelector("#plot-timeline").removeAttribute("role")`, "has no role"},
	} {
		b.do(t, chromedp.Reload())
		eval[bool](t, b, c.harm+", true")
		all := strings.Join(eval[[]string](t, b, auditScript), "\n")
		if c.want == "" && all != "" || !strings.Contains(all, c.want) {
			t.Errorf("after %s the audit says %q, want %q", c.harm, all, c.want)
		}
	}
	b.do(t, chromedp.Reload())
	eval[bool](t, b, `document.querySelectorAll("#plot-timeline text").forEach(e => e.removeAttribute("textLength")),
		document.querySelectorAll("#plot-timeline text").forEach(e => e.style.fontSize = "20px"), true`)
	if len(eval[[]string](t, b, collisionsScript)) == 0 {
		t.Error("nobody notices labels that run into each other")
	}
	if eval[int](t, b, `document.body.style.minWidth = "1500px", document.documentElement.scrollWidth`) <= 1100 {
		t.Error("a page that is too wide is not noticed")
	}
}

// inert fails if a page logged something or asked for anything but itself.
func (b *tab) inert(t *testing.T) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.wrong) > 0 {
		t.Errorf("the browser says %q", b.wrong)
	}
	if len(b.asked) == 0 {
		t.Error("no page was loaded")
	}
	for _, url := range b.asked {
		if !strings.HasPrefix(url, "file://") || !strings.HasSuffix(url, "/report.html") {
			t.Errorf("asked for %s", url)
		}
	}
}

// The tab key reaches everything that can be used, and shows where it is.
func TestBrowserKeyboard(t *testing.T) {
	b := openTab(t)
	b.show(t, Judged(synth.JudgedRun()), 1100, "light")
	want := eval[int](t, b, `(() => {
		window.reached = new Set();
		document.addEventListener("focusin", e => {
			if (getComputedStyle(e.target).outlineStyle === "none") window.unseen = e.target.outerHTML.slice(0, 80);
			window.reached.add(e.target);
		});
		window.usable = [...document.querySelectorAll("a, button, summary, [tabindex='0']")].filter(e => e.checkVisibility());
		return window.usable.length;
	})()`)
	if want < 30 {
		t.Fatalf("%d things can be used", want)
	}
	for range want {
		b.do(t, chromedp.KeyEvent(kb.Tab))
	}
	missed := eval[[]string](t, b, `window.usable.filter(e => !window.reached.has(e)).map(e => e.outerHTML.slice(0, 80))`)
	if len(missed) > 0 {
		t.Errorf("%d tabs do not reach %q", want, missed)
	}
	if unseen := eval[string](t, b, `window.unseen ?? ""`); unseen != "" {
		t.Errorf("%s does not show that it has the focus", unseen)
	}
	b.inert(t)
}

// The timeline tells of its holds, zooms to a finding and back, and fades clients out.
func TestBrowserTimeline(t *testing.T) {
	b := openTab(t)
	b.show(t, Input(synth.Act2Run(false)), 1100, "light")
	state := func() string {
		return eval[string](t, b, `(() => {
			const svg = document.querySelector("#plot-timeline");
			return [...svg.querySelectorAll("[data-a]")].map(e => [e.getAttribute("x"), e.getAttribute("width"),
				e.getAttribute("transform"), e.classList.contains("off")].join()).join(" ") + svg.dataset.zoom;
		})()`)
	}
	b.do(t, chromedp.Focus(chromedp.CSS("#plot-timeline")), chromedp.KeyEvent(kb.Escape))
	whole := state()
	b.do(t, chromedp.KeyEvent(kb.ArrowRight))
	told := eval[string](t, b, `document.querySelector("#plot-timeline-known").textContent`)
	if !strings.HasPrefix(told, "c5/1 held from ") || !strings.Contains(told, "token 14") ||
		!strings.Contains(told, "history.jsonl ") {
		t.Errorf("the first hold: %q", told)
	}
	b.do(t, chromedp.KeyEvent(kb.Enter))
	if state() == whole {
		t.Error("Enter does not zoom to the hold")
	}
	b.do(t, chromedp.KeyEvent("0"))
	if got := state(); got != whole {
		t.Errorf("0 does not show all again:\n%s\n%s", whole, got)
	}
	b.do(t, chromedp.Click(chromedp.CSS("a.zoom")))
	zoomed := eval[[]float64](t, b, `(() => {
		const svg = document.querySelector("#plot-timeline");
		return svg.dataset.zoom.split(" ").map(Number);
	})()`)
	if len(zoomed) != 2 || zoomed[0] > 3_300_000 || zoomed[1] < 3_420_000 || zoomed[1]-zoomed[0] > 500_000 {
		t.Errorf("zoomed to %v, want the overlap from 3.3 s to 3.42 s", zoomed)
	}
	if n := eval[int](t, b, `document.querySelectorAll("#plot-timeline .zoomed text").length`); n < 3 {
		t.Errorf("%d labels on the zoomed axis", n)
	}
	b.do(t, chromedp.Click(chromedp.CSS(`[data-pick="c1/1"]`)))
	dim := eval[[]string](t, b, `[...document.querySelectorAll(".dim")].map(e => e.dataset.client)`)
	pressed := eval[string](t, b, `document.querySelector('[data-pick="c1/1"]').getAttribute("aria-pressed")`)
	if diff := cmp.Diff([]string{"c1/1"}, dim); diff != "" || pressed != "false" {
		t.Errorf("c1/1 is not faded out; pressed: %s (-want +got):\n%s", pressed, diff)
	}
	b.inert(t)
}

// Names from a doctored history are text and nothing else.
func TestBrowserHostileNames(t *testing.T) {
	b := openTab(t)
	const evil = `"><img src=x onerror=window.struck=1><script>window.struck=1</script>'&lt;{{.}}`
	in := Input(synth.Act2Run(false))
	var events []history.Event
	for _, e := range in.Events.All() {
		e.Client = strings.ReplaceAll(e.Client, "c1/1", "c1/"+evil)
		if e.Lock != "" {
			e.Lock = "/locks/" + evil
		}
		if e.Detail != "" && e.Op == history.OpLost {
			e.Detail = evil
		}
		events = append(events, e)
	}
	sc := *in.Scenario
	sc.Name, sc.About = evil, evil
	in = Input(synth.RunOf(events, sc), check.Facts{Tokens: true, Queue: true, Exclusive: true})
	b.show(t, in, 1100, "light")
	if eval[bool](t, b, "window.struck !== undefined") {
		t.Error("a script of the history ran")
	}
	if n := eval[int](t, b, `document.querySelectorAll("img").length + document.scripts.length`); n != 1 {
		t.Errorf("%d images and scripts, want the page's own script only", n)
	}
	if !eval[bool](t, b, `document.querySelector("#plot-timeline").textContent.includes("<img src=x")`) {
		t.Error("the timeline does not show the name")
	}
	b.inert(t)
}
