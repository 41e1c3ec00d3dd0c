package index

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"

	"locklab/harness/rundir"
	"locklab/reports/internal/browser"
)

// The index is legible for everybody at each width, in each colour scheme and on paper, can be used with the keyboard,
// asks for nothing, and leads to the reports of its runs.
func TestBrowserIndex(t *testing.T) {
	b := browser.Open(t)
	dir := t.TempDir()
	calm, damage, partial := results()
	const evil = browser.Hostile
	named := calm
	named.Scenario, named.Headline = evil, evil+strings.Repeat("x", 300)
	record(t, filepath.Join(dir, "act1-calm"), calm, true)
	record(t, filepath.Join(dir, "act2-paused"), damage, true)
	record(t, filepath.Join(dir, "points", "clients=2,hold=5ms,think=0s", "a-name-that-is-quite-long-001"), partial, true)
	record(t, filepath.Join(dir, "z-evil"), named, false)
	if _, err := Write(dir, "Demonstration"); err != nil {
		t.Fatal(err)
	}
	address := "file://" + filepath.Join(dir, rundir.IndexFile)
	browser.Legible(t, b, address)
	for _, width := range []int64{1100, 400} {
		b.Show(t, address, width, "light")
		for _, part := range []string{"table", "td.verdict", "td.verdict span", "svg.plot"} {
			right := browser.Eval[float64](t, b, fmt.Sprintf(
				`Math.max(...[...document.querySelectorAll(%q)].map(e => e.getBoundingClientRect().right))`, part))
			if right > float64(width) {
				t.Errorf("%s reaches to %.0f px at %d px", part, right, width)
			}
		}
	}
	if n := browser.Eval[int](t, b, `document.querySelectorAll("tbody svg.plot").length`); n != 4 {
		t.Errorf("%d thumbnails, want one for each run", n)
	}
	if n := b.Tabbed(t); n < 5 {
		t.Errorf("%d things can be used", n)
	}
	if browser.Eval[bool](t, b, `window.struck !== undefined || document.querySelector("img") !== null`) {
		t.Error("a name had an effect")
	}
	b.Show(t, address, 718, "dark")
	b.Print(t, "dark")
	if diff := cmp.Diff([]string{}, browser.Unprinted(t, b)); diff != "" {
		t.Errorf("not on paper (-want +got):\n%s", diff)
	}
	b.Inert(t, func(url string) bool { return url == address })
	b.Do(t, chromedp.Click(chromedp.CSS(`a[href="./act2-paused/report.html"]`)))
	b.Await(t, `location.pathname.endsWith("/act2-paused/report.html")`)
}
