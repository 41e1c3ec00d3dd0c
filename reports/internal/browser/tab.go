package browser

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"locklab/ensembles/labtest/suite"
)

// A Tab is a browser's tab, and what went wrong in it.
type Tab struct {
	context.Context
	mu    sync.Mutex
	wrong []string
	asked []string // the addresses that were asked for
}

// Open starts Chromium and opens a tab. It skips the test where there is no Chromium, and fails it under CI.
func Open(t *testing.T) *Tab {
	t.Helper()
	if testing.Short() {
		t.Skip("a browser is started")
	}
	path := politely(t, suite.Tool(t, "chromium", "setup-chromium"))
	ctx, stop := chromedp.NewContext(t.Context(), chromedp.WithAllocatorOptions(chromedp.ExecPath(path),
		chromedp.NoSandbox, chromedp.UserDataDir(t.TempDir()), chromedp.WSURLReadTimeout(2*time.Minute)))
	t.Cleanup(stop)
	b := &Tab{Context: ctx}
	err := chromedp.Listen(ctx, func(event any) {
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

// politely returns a program that runs the one at path without the right to raise its own priority. As root, Chromium
// would put itself before everything else on the machine, such as labs whose clients then stand still.
func politely(t *testing.T, path string) string {
	t.Helper()
	setpriv, err := exec.LookPath("setpriv")
	if err != nil || os.Geteuid() != 0 {
		return path
	}
	program := filepath.Join(t.TempDir(), "chromium")
	text := fmt.Sprintf("#!/bin/sh\nexec %s --bounding-set=-sys_nice %s \"$@\"\n", setpriv, path)
	if err := os.WriteFile(program, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return program
}

// Do performs actions.
func (b *Tab) Do(t *testing.T, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(b, steps...); err != nil {
		t.Fatal(err)
	}
}

// Written writes a page to a file report.html of its own and returns its address.
func Written(t *testing.T, page *template.Template, view any) string {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "report.html"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(page.Execute(file, view), file.Close()); err != nil {
		t.Fatal(err)
	}
	return "file://" + file.Name()
}

// Show loads a page with a width and a colour scheme.
func (b *Tab) Show(t *testing.T, url string, width int64, scheme string) {
	t.Helper()
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme",
		Value: scheme}}}
	if _, err := chromedp.Call(b, emulation.SetEmulatedMedia, media); err != nil {
		t.Fatal(err)
	}
	b.Do(t, chromedp.EmulateViewport(width, 900), chromedp.Navigate(url))
}

// Print lays the page out as for a printer, for a reader with a colour scheme. Show lays out for screens again.
func (b *Tab) Print(t *testing.T, scheme string) {
	t.Helper()
	media := emulation.SetEmulatedMediaParams{Media: "print",
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}
	if _, err := chromedp.Call(b, emulation.SetEmulatedMedia, media); err != nil {
		t.Fatal(err)
	}
}

// Eval evaluates an expression in the page.
func Eval[T any](t *testing.T, b *Tab, expression string) T {
	t.Helper()
	v, err := chromedp.Run(b, chromedp.Evaluate[T](expression))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Inert fails the test if a page logged something, or asked for an address that is not allowed.
func (b *Tab) Inert(t *testing.T, allowed func(url string) bool) {
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
		if !allowed(url) {
			t.Errorf("asked for %s", url)
		}
	}
}

// Wrong returns what the browser logged of its pages.
func (b *Tab) Wrong() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.wrong)
}

// Tabbed presses the tab key as often as there are things to use, and fails the test if it does not reach each of them,
// or if one does not show that it has the focus. It returns how many there are.
func (b *Tab) Tabbed(t *testing.T) int {
	t.Helper()
	n := Eval[int](t, b, `(() => {
		window.reached = new Set();
		document.addEventListener("focusin", e => {
			if (getComputedStyle(e.target).outlineStyle === "none") window.unseen = e.target.outerHTML.slice(0, 80);
			window.reached.add(e.target);
		});
		window.usable = [...document.querySelectorAll("a, button, input, select, summary, [tabindex='0']")]
			.filter(e => e.checkVisibility());
		return window.usable.length;
	})()`)
	inside := Eval[int](t, b, `3 * document.querySelectorAll("input[type=date]").length`) // day, month, year, calendar
	for range n + inside {
		b.Do(t, chromedp.KeyEvent(kb.Tab))
	}
	missed := Eval[[]string](t, b,
		`window.usable.filter(e => !window.reached.has(e)).map(e => e.outerHTML.slice(0, 80))`)
	if len(missed) > 0 {
		t.Errorf("%d tabs do not reach %q", n, missed)
	}
	if unseen := Eval[string](t, b, `window.unseen ?? ""`); unseen != "" {
		t.Errorf("%s does not show that it has the focus", unseen)
	}
	return n
}

// Await waits until an expression is true in the page.
func (b *Tab) Await(t *testing.T, expression string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(b, patience)
	defer cancel()
	for { // a page that another takes the place of answers no more
		_, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`new Promise(resolve => {
			const look = () => (`+expression+`) ? resolve(true) : requestAnimationFrame(look);
			look();
		})`, chromedp.EvalAwaitPromise))
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("waiting for %s: %v", expression, err)
		}
	}
}

// patience is how long a page may take to become what a test waits for.
const patience = 2 * time.Minute
