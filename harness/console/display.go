package console

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"locklab/harness/run"
	"locklab/harness/watch"
	"locklab/reports/result"
)

// redrawEvery is how often a terminal shows the run again.
const redrawEvery = 250 * time.Millisecond

// A display shows a run's progress on a terminal, always in the same place. Text that is written to it appears above
// the progress. Each write leaves the terminal's settings as they were, so nothing has to be restored however the
// process ends.
type display struct {
	w    io.Writer
	size func() (width, height int, err error)
	// color says whether the terminal is to show colours.
	color bool

	mu    sync.Mutex
	shown string // on the screen, without colour; the cursor is at its end
	last  *watch.Progress
}

// newDisplay returns a display on f, or nil if f is not a terminal that can show one.
func newDisplay(f io.Writer, environ func(string) string) *display {
	file, ok := f.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) || environ("TERM") == "dumb" {
		return nil
	}
	return &display{
		w:     f,
		color: environ("NO_COLOR") == "",
		size:  func() (int, int, error) { return term.GetSize(int(file.Fd())) },
	}
}

// show draws the progress in place of the last.
func (d *display) show(p watch.Progress) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last = &p
	var b bytes.Buffer
	d.redraw(&b)
	_, _ = d.w.Write(b.Bytes()) // a terminal that has gone takes nothing with it
}

// Write puts lines above the progress.
func (d *display) Write(text []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var b bytes.Buffer
	d.erase(&b)
	b.Write(text)
	if d.last != nil {
		d.redraw(&b)
	}
	if _, err := d.w.Write(b.Bytes()); err != nil {
		return 0, err
	}
	return len(text), nil
}

// end leaves the last progress on the screen and the cursor below it.
func (d *display) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.last != nil {
		fmt.Fprintln(d.w)
	}
	d.shown, d.last = "", nil
}

// Control sequences. The cursor is hidden only while the lines are written.
const (
	hideCursor = "\x1b[?25l"
	showCursor = "\x1b[?25h"
	toMargin   = "\r"
	up         = "\x1b[%dA"
	eraseBelow = "\x1b[J"
)

// redraw writes the last progress again. The caller holds d.mu.
func (d *display) redraw(b *bytes.Buffer) {
	width, height, err := d.size()
	if err != nil || width <= 0 || height <= 0 {
		width, height = 80, 24
	}
	// The last column stays free, because terminals differ in where the cursor goes after it.
	width = max(1, width-1)
	b.WriteString(hideCursor)
	d.erase(b)
	b.WriteString(d.last.Screen(width, height, d.color))
	b.WriteString(showCursor)
	d.shown = d.last.Screen(width, height, false)
}

// erase removes the progress from the screen. A terminal that has become narrower has wrapped its lines. The caller
// holds d.mu.
func (d *display) erase(b *bytes.Buffer) {
	if d.shown == "" {
		return
	}
	rows := -1 // the cursor is in the last row
	width, _, err := d.size()
	for line := range strings.SplitSeq(d.shown, "\n") {
		rows++
		if n := utf8.RuneCountInString(line); err == nil && width > 0 && n > width {
			rows += (n - 1) / width
		}
	}
	b.WriteString(toMargin)
	if rows > 0 {
		fmt.Fprintf(b, up, rows)
	}
	b.WriteString(eraseBelow)
	d.shown = ""
}

// OnDisplay returns options that show a run as a display if w is a terminal, and that show nothing otherwise. Other
// lines for w go to lines. The caller calls end when the run is over.
func OnDisplay(w io.Writer, log *slog.Logger) (opts run.Options, lines io.Writer, end func()) {
	d := newDisplay(w, os.Getenv)
	if d == nil {
		return run.Options{Log: log}, w, func() {}
	}
	log = slog.New(slog.NewTextHandler(d, nil)) // or it would write into the display
	return run.Options{Log: log, Progress: d.show, ProgressEvery: redrawEvery}, d, d.end
}

// Following returns options that show a run on w: as a display if w is a terminal, and otherwise as one plain line each
// second. The caller calls end when the run is over.
func Following(w io.Writer, log *slog.Logger) (opts run.Options, end func()) {
	opts, _, end = OnDisplay(w, log)
	if opts.Progress == nil {
		opts.Progress = func(p watch.Progress) { fmt.Fprintln(w, p) }
	}
	return opts, end
}

// colours are the SGR codes of outcomes on a terminal.
var colours = map[result.Outcome]string{
	result.AsExpected:      "32",       // green
	result.DamageShown:     "38;5;214", // amber
	result.Violation:       "31",       // red
	result.ThresholdMissed: "31",
}

// Paint colours text by an outcome if w is a terminal that is to show colours.
func Paint(w io.Writer, o result.Outcome, text string) string {
	if !isTerminal(w) || os.Getenv("NO_COLOR") != "" {
		return text
	}
	return painted(o, text)
}

func painted(o result.Outcome, text string) string {
	code, ok := colours[o]
	if !ok {
		return text
	}
	return "\x1b[1;" + code + "m" + text + "\x1b[0m"
}

// isTerminal reports whether w is a terminal that understands control sequences.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}
