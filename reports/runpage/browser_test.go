package runpage

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/go-cmp/cmp"

	"locklab/harness/check/evidence"
	"locklab/harness/history"
	"locklab/reports/internal/browser"
	"locklab/reports/internal/synth"
	"locklab/reports/result"
)

// written writes a run's page, without the files of its pictures, and returns its address.
func written(t *testing.T, in result.Input) string {
	t.Helper()
	figures, d := figuresOf(in)
	for _, f := range figures {
		d.all = append(d.all, f.Inline())
	}
	return browser.Written(t, page, newPageView(in, d))
}

// show loads a run's page with a width and a colour scheme.
func show(t *testing.T, b *browser.Tab, in result.Input, width int64, scheme string) {
	t.Helper()
	b.Show(t, written(t, in), width, scheme)
}

// inert fails if a page logged something or asked for anything but itself.
func inert(t *testing.T, b *browser.Tab) {
	t.Helper()
	b.Inert(t, func(url string) bool {
		return strings.HasPrefix(url, "file://") && strings.HasSuffix(url, "/report.html")
	})
}

// browsed are the runs whose pages are looked at in a browser.
func browsed() map[string]result.Input {
	broken := Input(synth.Act2Run(false))
	broken.Partial, broken.Interrupted = true, true
	broken = result.NewInput(broken.Run, broken.Report)
	return map[string]result.Input{
		"damage":     result.NewInput(synth.JudgedRun()),
		"many":       Input(synth.StormRun()),
		"read-write": Input(synth.ReadWriteRun()),
		"partial":    broken,
		"empty":      emptyInput(),
	}
}

// A page is legible for everybody at each width and in each colour scheme, fetches nothing, and has all its sections.
func TestBrowserPages(t *testing.T) {
	b := browser.Open(t)
	for name, in := range browsed() {
		t.Run(name, func(t *testing.T) {
			browser.Legible(t, b, written(t, in))
			for _, id := range []string{"checks", "findings", "faults", "holds", "latency", "throughput", "fairness", "servers",
				"hiccups", "thresholds", "warnings", "numbers", "method", "environment", "reproduce"} {
				if !browser.Eval[bool](t, b, fmt.Sprintf("document.getElementById(%q)?.textContent.trim().length > 10", id)) {
					t.Errorf("section %s is missing or empty", id)
				}
			}
			first := browser.Eval[string](t, b, `document.querySelector("main").firstElementChild.className`)
			if in.Result.Partial != (first == "partial") {
				t.Errorf("the report of a run whose partial is %v begins with %q", in.Result.Partial, first)
			}
		})
	}
	inert(t, b)
}

// On paper a page has everything, folded or not, in light colours, and nothing is cut.
func TestBrowserPrint(t *testing.T) {
	b := browser.Open(t)
	const paper = 718 // CSS pixels of A4 between the usual margins of 10 mm
	for name, in := range browsed() {
		t.Run(name, func(t *testing.T) {
			show(t, b, in, paper, "dark")
			b.Print(t, "dark")
			if diff := cmp.Diff([]string{}, browser.Unprinted(t, b)); diff != "" {
				t.Errorf("not on paper (-want +got):\n%s", diff)
			}
			colors := browser.Eval[string](t, b, `(s => s.color + " on " + s.backgroundColor)(getComputedStyle(document.body))`)
			if colors != "rgb(26, 26, 26) on rgb(255, 255, 255)" {
				t.Errorf("the colours are %s", colors)
			}
		})
	}
	// The test can fail.
	show(t, b, result.NewInput(synth.JudgedRun()), paper, "light")
	b.Print(t, "light")
	for harm, want := range map[string]string{
		`document.querySelector("details:not([open])").style.display = "none"`:             "is hidden",
		`document.querySelector("table").style.width = "900px"`:                            "is cut at the right",
		`document.querySelector("#checks").style.cssText = "height: 40px; overflow: clip"`: "is cut by #checks",
	} {
		b.Do(t, chromedp.Reload())
		browser.Eval[bool](t, b, harm+", true")
		if all := strings.Join(browser.Unprinted(t, b), "\n"); !strings.Contains(all, want) {
			t.Errorf("after %s it says %q, want %q", harm, all, want)
		}
	}
	inert(t, b)
}

// The audit can fail: it finds what is done to a page that it passed.
func TestBrowserAuditFindsFaults(t *testing.T) {
	b := browser.Open(t)
	show(t, b, result.NewInput(synth.JudgedRun()), 1100, "light")
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
		b.Do(t, chromedp.Reload())
		browser.Eval[bool](t, b, c.harm+", true")
		all := strings.Join(browser.Audit(t, b), "\n")
		if c.want == "" && all != "" || !strings.Contains(all, c.want) {
			t.Errorf("after %s the audit says %q, want %q", c.harm, all, c.want)
		}
	}
	b.Do(t, chromedp.Reload())
	browser.Eval[bool](t, b, `document.querySelectorAll("#plot-timeline text").forEach(e => {
		e.removeAttribute("textLength");
		e.style.fontSize = "20px";
	}), true`)
	if len(browser.Collisions(t, b)) == 0 {
		t.Error("nobody notices labels that run into each other")
	}
	if browser.Eval[int](t, b, `document.body.style.minWidth = "1500px", document.documentElement.scrollWidth`) <= 1100 {
		t.Error("a page that is too wide is not noticed")
	}
}

// The tab key reaches everything that can be used, and shows where it is.
func TestBrowserKeyboard(t *testing.T) {
	b := browser.Open(t)
	show(t, b, result.NewInput(synth.JudgedRun()), 1100, "light")
	if n := b.Tabbed(t); n < 30 {
		t.Errorf("%d things can be used", n)
	}
	inert(t, b)
}

// The timeline tells of its holds, zooms to a finding and back, and fades clients out.
func TestBrowserTimeline(t *testing.T) {
	b := browser.Open(t)
	show(t, b, Input(synth.Act2Run(false)), 1100, "light")
	state := func() string {
		return browser.Eval[string](t, b, `(() => {
			const svg = document.querySelector("#plot-timeline");
			return [...svg.querySelectorAll("[data-a]")].map(e => [e.getAttribute("x"), e.getAttribute("width"),
				e.getAttribute("transform"), e.classList.contains("off")].join()).join(" ") + svg.dataset.zoom;
		})()`)
	}
	b.Do(t, chromedp.Focus(chromedp.CSS("#plot-timeline")), chromedp.KeyEvent(kb.Escape))
	whole := state()
	b.Do(t, chromedp.KeyEvent(kb.ArrowRight))
	told := browser.Eval[string](t, b, `document.querySelector("#plot-timeline-known").textContent`)
	if !strings.HasPrefix(told, "c5/1 held from ") || !strings.Contains(told, "token 14") ||
		!strings.Contains(told, "history.jsonl ") {
		t.Errorf("the first hold: %q", told)
	}
	b.Do(t, chromedp.KeyEvent(kb.Enter))
	if state() == whole {
		t.Error("Enter does not zoom to the hold")
	}
	b.Do(t, chromedp.KeyEvent("0"))
	if got := state(); got != whole {
		t.Errorf("0 does not show all again:\n%s\n%s", whole, got)
	}
	b.Do(t, chromedp.Click(chromedp.CSS("a.zoom")))
	zoomed := browser.Eval[[]float64](t, b, `(() => {
		const svg = document.querySelector("#plot-timeline");
		return svg.dataset.zoom.split(" ").map(Number);
	})()`)
	if len(zoomed) != 2 || zoomed[0] > 3_300_000 || zoomed[1] < 3_420_000 || zoomed[1]-zoomed[0] > 500_000 {
		t.Errorf("zoomed to %v, want the overlap from 3.3 s to 3.42 s", zoomed)
	}
	if n := browser.Eval[int](t, b, `document.querySelectorAll("#plot-timeline .zoomed text").length`); n < 3 {
		t.Errorf("%d labels on the zoomed axis", n)
	}
	b.Do(t, chromedp.Click(chromedp.CSS(`[data-pick="c1/1"]`)))
	dim := browser.Eval[[]string](t, b, `[...document.querySelectorAll(".dim")].map(e => e.dataset.client)`)
	pressed := browser.Eval[string](t, b, `document.querySelector('[data-pick="c1/1"]').getAttribute("aria-pressed")`)
	if diff := cmp.Diff([]string{"c1/1"}, dim); diff != "" || pressed != "false" {
		t.Errorf("c1/1 is not faded out; pressed: %s (-want +got):\n%s", pressed, diff)
	}
	inert(t, b)
}

// Names from a doctored history are text and nothing else.
func TestBrowserHostileNames(t *testing.T) {
	b := browser.Open(t)
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
	in = Input(synth.RunOf(events, sc), evidence.Facts{Tokens: true, Queue: true, Exclusive: true})
	show(t, b, in, 1100, "light")
	if browser.Eval[bool](t, b, "window.struck !== undefined") {
		t.Error("a script of the history ran")
	}
	if n := browser.Eval[int](t, b, `document.querySelectorAll("img").length + document.scripts.length`); n != 1 {
		t.Errorf("%d images and scripts, want the page's own script only", n)
	}
	if !browser.Eval[bool](t, b, `document.querySelector("#plot-timeline").textContent.includes("<img src=x")`) {
		t.Error("the timeline does not show the name")
	}
	inert(t, b)

	// The file of a picture is a document of its own.
	b = browser.Open(t)
	figures, _ := figuresOf(in)
	picture, err := figures[0].Render()
	file := filepath.Join(t.TempDir(), "timeline.svg")
	if err := errors.Join(err, os.WriteFile(file, picture.SVG, 0o644)); err != nil {
		t.Fatal(err)
	}
	b.Show(t, "file://"+file, 1100, "light")
	if browser.Eval[bool](t, b, `window.struck !== undefined || document.querySelector("script, img, image") !== null`) {
		t.Error("a name had an effect in the picture's file")
	}
	if !browser.Eval[bool](t, b, `document.documentElement.textContent.includes("<img src=x")`) {
		t.Error("the picture's file does not show the name")
	}
	b.Inert(t, func(url string) bool { return url == "file://"+file })
}
