package advice

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"locklab/harness/scenario"
	"locklab/harness/untrusted"
)

// Pauses are the pauses that one process had while it was watched.
type Pauses struct {
	Source string // where they come from
	What   string // what counted as a pause
	// Lengths are the lengths of the pauses, the shortest first. Counts of interpolated lengths are not whole.
	Lengths []Length
	Span    time.Duration // for how long the process was watched
	// Interpolated says that only quantiles are known, and that the lengths between them are a guess.
	Interpolated bool
	Notes        []string // what the reader should know about the input
}

// A Length is how long a pause was, and how many were as long.
type Length struct {
	Of    time.Duration
	Count float64
}

// Count returns the number of pauses.
func (p *Pauses) Count() float64 {
	n := 0.0
	for _, l := range p.Lengths {
		n += l.Count
	}
	return n
}

// Longest returns the length of the longest pause.
func (p *Pauses) Longest() time.Duration {
	if len(p.Lengths) == 0 {
		return 0
	}
	return p.Lengths[len(p.Lengths)-1].Of
}

// join adds the pauses of another process, or of the same one at another time.
func (p *Pauses) join(o Pauses) {
	p.Source += ", " + o.Source
	if !strings.Contains(p.What, o.What) {
		p.What += ", " + o.What
	}
	p.Lengths = append(p.Lengths, o.Lengths...)
	p.Span += o.Span
	p.Notes = append(p.Notes, o.Notes...)
	p.order()
}

func (p *Pauses) order() {
	slices.SortStableFunc(p.Lengths, func(a, b Length) int { return cmp.Compare(a.Of, b.Of) })
}

// flag is the flag that names the sources.
const flag = "--pauses"

// Read reads pauses from sources: files, whose pauses and spans are added up, or one list of quantiles. The error of
// bad input is a [*scenario.InputError].
func Read(sources []string) (Pauses, error) {
	var all Pauses
	for i, source := range sources {
		p, err := read(source)
		switch {
		case err != nil:
			return Pauses{}, err
		case p.Interpolated && len(sources) > 1:
			return Pauses{}, &scenario.InputError{Flag: flag, Msg: "quantiles do not add up with another source",
				Hint: "give one list of quantiles, or logs only"}
		case i == 0:
			all = p
		default:
			all.join(p)
		}
	}
	return all, nil
}

func read(source string) (Pauses, error) {
	_, err := os.Stat(source)
	if errors.Is(err, fs.ErrNotExist) {
		if strings.Contains(source, "=") {
			return parseQuantiles(source)
		}
		return Pauses{}, &scenario.InputError{Flag: flag, Msg: "there is no file " + untrusted.Line(source),
			Hint: "a JVM's GC log, hiccups.hlog of a run, or p50=2ms,p99=80ms,max=3s,count=86400,over=24h"}
	}
	f, err := untrusted.Open(source, untrusted.AnySize)
	if err != nil {
		return Pauses{}, fmt.Errorf("%s: %w", flag, err)
	}
	defer f.Close()
	p, err := readLog(f, source)
	if err != nil {
		return Pauses{}, err
	}
	p.order()
	return p, nil
}

// readLog reads the log of either kind from a file of that name.
func readLog(r io.Reader, name string) (Pauses, error) {
	lines := newLines(r, name)
	head, err := lines.in.Peek(1 << 10)
	if len(head) == 0 {
		if err != nil && !errors.Is(err, io.EOF) {
			return Pauses{}, fmt.Errorf("read %s: %w", name, err)
		}
		return Pauses{}, lines.bad("the file is empty", howToLog)
	}
	if first, _, _ := bytes.Cut(head, []byte("\n")); isHlog(first) {
		return readHlog(lines)
	}
	return readGCLog(lines)
}

// lines reads a file line by line, and knows where it is.
type lines struct {
	in   *bufio.Reader
	file string
	n    int // of the line, from 1
}

// longestLine is more than any line of a log of either kind has.
const longestLine = 1 << 20

func newLines(r io.Reader, file string) *lines {
	return &lines{in: bufio.NewReaderSize(r, longestLine), file: file}
}

// next returns the next line without its end; [io.EOF] after the last one.
func (l *lines) next() (string, error) {
	b, err := l.in.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		l.n++
		return "", l.bad("the line is too long for a log", howToLog)
	case errors.Is(err, io.EOF) && len(b) > 0:
	case errors.Is(err, io.EOF):
		return "", io.EOF
	case err != nil:
		return "", fmt.Errorf("read %s: %w", l.file, err)
	}
	l.n++
	return strings.TrimRight(string(b), "\r\n"), nil
}

// bad returns an error that names the current line.
func (l *lines) bad(msg, hint string) error {
	return &scenario.InputError{File: untrusted.Line(l.file), Line: max(l.n, 1), Column: 1, Msg: msg, Hint: hint}
}
