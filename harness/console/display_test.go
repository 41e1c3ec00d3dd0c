package console

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"locklab/harness/watch"
)

// screen is as much of a terminal as a display needs: wide enough, and without a bottom.
type screen struct {
	lines    [][]rune
	row, col int
	hidden   bool // the cursor
}

var sequence = regexp.MustCompile("^\x1b\\[([?0-9;]*)([A-Za-z])")

func (s *screen) Write(b []byte) (int, error) {
	text := string(b)
	for len(text) > 0 {
		if m := sequence.FindStringSubmatch(text); m != nil {
			s.control(m[1], m[2])
			text = text[len(m[0]):]
			continue
		}
		r := []rune(text)[0]
		text = text[len(string(r)):]
		switch r {
		case '\n': // with the terminal's own carriage return
			s.row, s.col = s.row+1, 0
		case '\r':
			s.col = 0
		default:
			s.put(r)
		}
	}
	return len(b), nil
}

func (s *screen) put(r rune) {
	for len(s.lines) <= s.row {
		s.lines = append(s.lines, nil)
	}
	for len(s.lines[s.row]) <= s.col {
		s.lines[s.row] = append(s.lines[s.row], ' ')
	}
	s.lines[s.row][s.col] = r
	s.col++
}

func (s *screen) control(parameter, final string) {
	switch final + parameter {
	case "l?25":
		s.hidden = true
	case "h?25":
		s.hidden = false
	case "J":
		if s.row < len(s.lines) {
			s.lines = s.lines[:s.row+1]
			s.lines[s.row] = s.lines[s.row][:min(s.col, len(s.lines[s.row]))]
		}
	default:
		if final == "A" {
			var n int
			_, _ = fmt.Sscan(parameter, &n)
			s.row -= n
		} else if final != "m" {
			panic("unknown sequence " + parameter + final)
		}
	}
}

func (s *screen) String() string {
	var lines []string
	for _, l := range s.lines {
		lines = append(lines, string(l))
	}
	return strings.Join(lines, "\n")
}

func TestDisplayStaysInPlace(t *testing.T) {
	var s screen
	width, height := 80, 24
	d := &display{w: &s, color: true, size: func() (int, int, error) { return width, height, nil }}
	fmt.Fprintln(d, "before")
	first := watch.Progress{
		Scenario: "mutex",
		Phase:    "measure",
		Planned:  time.Minute,
		Clients:  3,
		Faults:   []string{"pause c1"},
	}
	second := first
	second.Faults, second.Acquired, second.Holders = nil, 7, []watch.Holder{{Lock: "/l", Client: "c1/0"}}
	for _, p := range []watch.Progress{first, second, first, second} {
		d.show(p)
		if want := "before\n" + p.Screen(79, 24, false); s.String() != want {
			t.Fatalf("screen\n%s\nwant\n%s", &s, want)
		}
		if s.hidden {
			t.Fatal("the cursor is hidden between two redraws")
		}
	}
	fmt.Fprintln(d, "meanwhile")
	if want := "before\nmeanwhile\n" + second.Screen(79, 24, false); s.String() != want {
		t.Errorf("after a message\n%s\nwant\n%s", &s, want)
	}
	width, height = 200, 4
	d.show(first)
	if want := "before\nmeanwhile\n" + first.Screen(199, 4, false); s.String() != want {
		t.Errorf("after a change of size\n%s\nwant\n%s", &s, want)
	}
	d.end()
	d.end()
	fmt.Fprintln(d, "after")
	if want := "before\nmeanwhile\n" + first.Screen(199, 4, false) + "\nafter"; s.String() != want || s.hidden {
		t.Errorf("at the end\n%s\nwant\n%s", &s, want)
	}
}

// A terminal that has become narrower shows a long line in several rows.
func TestDisplayErasesWrappedLines(t *testing.T) {
	width := 100
	d := &display{size: func() (int, int, error) { return width, 24, nil }}
	for _, c := range []struct {
		width int
		want  string
	}{{100, "\r\x1b[1A\x1b[J"}, {60, "\r\x1b[2A\x1b[J"}, {30, "\r\x1b[4A\x1b[J"}} {
		d.shown, width = strings.Repeat("x", 90)+"\n"+strings.Repeat("y", 60), c.width
		var b bytes.Buffer
		d.erase(&b)
		if b.String() != c.want {
			t.Errorf("%d columns: %q, want %q", c.width, b.String(), c.want)
		}
	}
}

// Plain lines are printed where the output is not a terminal, and on a terminal that supports nothing else.
func TestNoDisplay(t *testing.T) {
	var b bytes.Buffer
	if newDisplay(&b, func(string) string { return "" }) != nil {
		t.Error("a display on a buffer")
	}
	opts, end := Following(&b, nil)
	opts.Progress(watch.Progress{Phase: "measure"})
	end()
	if got := b.String(); strings.Count(got, "\n") != 1 || strings.ContainsRune(got, '\x1b') {
		t.Errorf("wrote %q, want a plain line", got)
	}
}
