//go:build !nolab

package serve

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	godiff "github.com/google/go-cmp/cmp"

	"locklab/harness/history"
	"locklab/harness/rundir"
	"locklab/harness/scenario"
	"locklab/reports/internal/browser"
	"locklab/reports/internal/synth"
	"locklab/reports/result"
)

// many makes runs of several kinds.
func many(t *testing.T, dir string) {
	t.Helper()
	picture := `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 200">` +
		`<rect width="720" height="200" fill="#fff"/>` +
		`<rect x="80" y="40" width="300" height="20" fill="#0072b2"/><text x="10" y="54">c1/1</text></svg>`
	outcomes := []result.Outcome{result.AsExpected, result.DamageShown, result.AsExpected, result.Violation,
		result.Inconclusive, result.ThresholdMissed}
	for i := range 24 {
		kind := [][2]string{{"mutex", "mutex"}, {"mutex-pause", "curator-mutex"}, {"hot-locks", "mutex"}}[i%3]
		madeRun{fmt.Sprintf("%s-%02d", kind[0], i), kind[0], kind[1], outcomes[i%len(outcomes)],
			noon.Add(time.Duration(i) * 7 * time.Hour), 400 + float64(i*i%97), "<p>report", picture}.make(t, dir)
	}
	write(t, filepath.Join(dir, "sweep-1", "index.html"), "<p>sweep")
}

// inert fails if a page logged something or asked for anything of another site.
func inert(t *testing.T, b *browser.Tab, server string) {
	t.Helper()
	b.Inert(t, func(address string) bool {
		return strings.HasPrefix(address, server+"/") || strings.HasPrefix(address, "data:")
	})
}

// Each page is legible for everybody at each width and in each colour scheme, and the keyboard reaches all of it.
func TestBrowserPages(t *testing.T) {
	b := browser.Open(t)
	dir := t.TempDir()
	many(t, dir)
	newRecording(t, filepath.Join(dir, "broken-off")).record(t, 0, 3000)
	server := serve(t, dir)
	for _, path := range []string{"/", "/?scenario=mutex", "/compare?run=mutex-00&run=mutex-03", "/compare?run=mutex-00",
		"/live?run=broken-off", "/live?run=mutex-00"} {
		t.Run(path, func(t *testing.T) {
			browser.Legible(t, b, server+path)
			b.Tabbed(t)
		})
	}
	for _, w := range b.Wrong() {
		if !strings.Contains(w, "400 (Bad Request)") { // the comparison of one run
			t.Errorf("the browser says %q", w)
		}
	}
}

// With the keyboard alone a reader filters the list and compares two runs.
func TestBrowserBrowses(t *testing.T) {
	b := browser.Open(t)
	dir := t.TempDir()
	many(t, dir)
	server := serve(t, dir)
	b.Show(t, server, 1100, "light")
	rows := `document.querySelectorAll(".runs tbody tr").length`
	if n := browser.Eval[int](t, b, rows); n != 24 {
		t.Fatalf("%d runs are listed", n)
	}
	b.Do(t, chromedp.Focus(chromedp.CSS("select[name=scenario]")), chromedp.KeyEvent("mutex-p"),
		chromedp.Focus(chromedp.CSS(".filter button")), chromedp.KeyEvent(kb.Enter))
	b.Await(t, `location.search.includes("scenario=mutex-pause") && `+rows+` === 8`)
	for _, nth := range []string{"2", "5"} {
		b.Do(t, chromedp.Focus(chromedp.CSS(".runs tbody tr:nth-child("+nth+") input")), chromedp.KeyEvent(" "))
	}
	b.Do(t, chromedp.KeyEvent(kb.Enter))
	b.Await(t, `location.pathname === "/compare" && document.querySelectorAll(".pair section").length === 2`)
	if text := browser.Eval[string](t, b, `document.querySelector("table").textContent`); !strings.Contains(text, "×") {
		t.Errorf("the comparison has no ratio: %s", text)
	}
	b.Await(t, `[...document.images].length === 2 && [...document.images].every(i => i.naturalWidth > 0)`)
	inert(t, b, server)
}

// Names that do harm do none, and a report that does harm can do it to nothing but itself.
func TestBrowserHostileNames(t *testing.T) {
	b := browser.Open(t)
	dir := t.TempDir()
	hostile(t, dir)
	steal := `<!DOCTYPE html><title>x</title><link rel="icon" href="data:,"><script>window.struck = 0;
		try { window.struck = document.cookie.length + localStorage.length + 1; } catch { window.alone = true; }
		fetch("/").then(r => r.text()).then(() => { window.struck = 1; }, () => { window.unread = true; });</script>`
	write(t, filepath.Join(dir, "b", "report.html"), steal)
	server := serve(t, dir)
	for _, path := range []string{"/", "/compare?run=" + url.QueryEscape(hostileName) + "&run=b",
		"/live?run=" + url.QueryEscape(hostileName)} {
		b.Show(t, server+path, 1100, "light")
		if browser.Eval[bool](t, b, `window.struck !== undefined || document.querySelector("img[src=x]") !== null`) {
			t.Errorf("%s: a name had an effect", path)
		}
		if !browser.Eval[bool](t, b, `document.body.textContent.includes("<img src=x")`) {
			t.Errorf("%s does not show the name", path)
		}
	}
	inert(t, b, server)
	b.Show(t, server+"/files/b/report.html", 1100, "light")
	b.Await(t, "window.unread && window.alone")
	if n := browser.Eval[int](t, b, "window.struck"); n != 0 {
		t.Error("a report reads what is not its own")
	}
}

// A recording is a run directory that fills up as that of a run that lasts.
type recording struct {
	dir    string
	events []history.Event
}

func newRecording(t *testing.T, dir string) recording {
	t.Helper()
	sc, err := scenario.Load("lasts.yaml", []byte("name: lasts\nclients: 5\nclient-processes: 5\n"))
	if err == nil {
		begun := result.Result{SchemaVersion: result.SchemaVersion, Scenario: "lasts", Recipe: "mutex", Partial: true}
		err = errors.Join(rundir.CreateDir(dir, sc, sc.Plan(nil), begun),
			rundir.WriteEnv(dir, rundir.Env{Format: rundir.Format, Run: "r", StartedUnixNs: noon.UnixNano()}))
	}
	if err != nil {
		t.Fatal(err)
	}
	run, _ := synth.Act2Run(false)
	begin := history.Begins(0, "lasts", "r")
	begin.Process = rundir.HarnessHost
	return recording{dir, append([]history.Event{begin}, run.Events.Events()...)}
}

// record appends the events of the milliseconds [from, to) to the run's histories.
func (r recording) record(t *testing.T, from, to float64) {
	t.Helper()
	for _, e := range r.events {
		if e.At < synth.Ms(from) || e.At >= synth.Ms(to) {
			continue
		}
		host := rundir.HostDir(r.dir, cmp.Or(e.Process, rundir.HarnessHost))
		err := os.MkdirAll(host, 0o755)
		if err == nil {
			var f *os.File
			f, err = os.OpenFile(filepath.Join(host, rundir.ProcessHistory(1)), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
			if err == nil {
				_, err = f.Write(history.Encode(e))
				err = errors.Join(err, f.Close())
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A run that lasts is shown as it goes on, and with its verdict and its report once it has been judged.
func TestBrowserLive(t *testing.T) {
	b := browser.Open(t)
	dir := t.TempDir()
	at := filepath.Join(dir, "lasts")
	r := newRecording(t, at)
	release := rundir.Occupy(at)
	server := serve(t, dir)
	b.Show(t, server, 400, "dark")
	b.Do(t, chromedp.Click(chromedp.CSS(`a[href="/live?run=lasts"]`)))
	b.Await(t, `document.querySelector("#phase")?.textContent.includes("The run begins.")`)
	b.Await(t, `document.title.startsWith("Live: ") && document.querySelector("#how").textContent.includes("late")`)
	r.record(t, 0, 1500)
	b.Await(t, `document.querySelector("#live-overview svg") !== null`)
	end := func(picture string) int64 {
		return browser.Eval[int64](t, b, fmt.Sprintf("Number(document.querySelector('#live-%s svg').dataset.to)", picture))
	}
	before := end("overview")
	r.record(t, 1500, 4000)
	b.Await(t, fmt.Sprintf(`Number(document.querySelector("#live-overview svg").dataset.to) > %d`, before))
	if got := end("latest"); got < 3_900_000 {
		t.Errorf("the last seconds end at %d µs", got)
	}
	if n := browser.Eval[int](t, b, `document.querySelectorAll("#live-latest [data-client]").length`); n != 5 {
		t.Errorf("%d clients have a row", n)
	}
	if wide := browser.Eval[int64](t, b, "document.documentElement.scrollWidth"); wide > 400 {
		t.Errorf("%d px wide", wide)
	}
	if diff := godiff.Diff([]string{}, browser.Audit(t, b)); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
	r.record(t, 4000, 10000)
	release()
	b.Await(t, `document.querySelector("#phase").textContent.includes("is being judged")`)
	madeRun{"lasts", "lasts", "mutex", result.DamageShown, noon, 100, "<p>the report", ""}.make(t, dir)
	b.Await(t, `document.querySelector("#outcome h2")?.textContent === "Damage shown, as expected"`)
	b.Await(t, `!document.title.includes("Live") && document.querySelector("#how").textContent.trim() === ""`)
	text := browser.Eval[string](t, b, `document.querySelector("main").textContent`)
	if strings.Contains(text, "so far:") {
		t.Errorf("a run that is over is said to last: %s", text)
	}
	inert(t, b, server)
	b.Do(t, chromedp.Click(chromedp.CSS(`#outcome a`)))
	b.Await(t, `document.body.textContent.includes("the report")`)
}
