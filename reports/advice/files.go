package advice

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"locklab/harness/scenario"
	"locklab/harness/untrusted"
)

var (
	// logName is the name of a file that may be a GC log.
	logName = regexp.MustCompile(`(?i)^[^.].*\.log\b|^[^.]*gc`)
	// rotated is what rotation adds to the name of a log. The JVM numbers files in turn, logrotate from the newest on or
	// by date.
	rotated = regexp.MustCompile(`(?i)(\.\d+|\.current|-\d{8}(-?\d+)?)*(\.gz)?$`)
)

// readDir reads the logs of a directory. The files of one name, but for what rotation adds to it, are one log; in which
// order their lines were written is known by their times. Files without pauses are left out.
func readDir(dir string) (Pauses, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return Pauses{}, fmt.Errorf("%s: %w", flag, err)
	}
	refuse := func(msg string) error {
		return &scenario.InputError{File: untrusted.Line(dir), Msg: msg, Hint: "files of a directory are read if their " +
			"names have gc or .log in them; hiccups.hlog of a run is given by its own name"}
	}
	var (
		notes []string
		order []string
		files = map[string][]string{}
	)
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() || !logName.MatchString(name) {
			continue
		}
		path := filepath.Join(dir, name)
		if plain, ok := strings.CutSuffix(path, ".gz"); ok {
			if _, err := os.Stat(plain); err == nil {
				notes = append(notes, untrusted.Line(path)+" was left out, because it is there without .gz too")
				continue
			}
		}
		base := rotated.ReplaceAllString(name, "")
		if files[base] == nil {
			order = append(order, base)
		}
		files[base] = append(files[base], path)
	}
	if len(order) == 0 {
		return Pauses{}, refuse("no file of the directory is a GC log")
	}
	var all []Pauses
	for _, base := range order {
		p, skipped, err := readSeries(filepath.Join(dir, base), files[base])
		if err != nil {
			return Pauses{}, err
		}
		for _, name := range skipped {
			notes = append(notes, untrusted.Line(name)+" was left out, because it has no pauses")
		}
		if p.Count() > 0 {
			all = append(all, p)
		}
	}
	if len(all) == 0 {
		return Pauses{}, refuse("not one file of the directory tells a pause")
	}
	whole := all[0]
	for _, p := range all[1:] {
		whole.join(p)
	}
	whole.Source, whole.Notes = dir, slices.Concat(notes, whole.Notes)
	return whole, nil
}

// readSeries reads the files of one log. It returns the names of files that have nothing to do with pauses.
func readSeries(name string, files []string) (p Pauses, skipped []string, err error) {
	g := newGCLog()
	for _, file := range files {
		err := withFile(file, func(in *lines) error {
			if in.isEmpty() {
				skipped = append(skipped, file)
				return nil
			}
			return g.read(in)
		})
		if err != nil {
			return Pauses{}, nil, err
		}
	}
	p, err = g.pauses(name)
	if len(g.safepoints.lengths)+len(g.collections.lengths) == 0 && !g.knowsWhy() {
		return Pauses{}, files, nil
	}
	p.order()
	return p, skipped, err
}

// lines reads a file line by line, and knows where it is.
type lines struct {
	in    *bufio.Reader
	file  string
	n     int  // of the line, from 1
	ended bool // the line has an end, as all have but the last one of a file that is still being written
}

// longestLine is more than any line of a log of either kind has.
const longestLine = 1 << 20

func newLines(r io.Reader, file string) *lines {
	return &lines{in: bufio.NewReaderSize(r, longestLine), file: file}
}

// withFile calls a function with the lines of a file, which may be compressed by gzip.
func withFile(name string, read func(*lines) error) error {
	f, err := untrusted.Open(name, untrusted.AnySize)
	if err != nil {
		return fmt.Errorf("%s: %w", flag, err)
	}
	defer f.Close()
	in := newLines(f, name)
	if head, _ := in.in.Peek(2); bytes.Equal(head, []byte{0x1f, 0x8b}) {
		unzipped, err := gzip.NewReader(in.in)
		if err != nil {
			return in.failed(err)
		}
		in = newLines(unzipped, name)
	}
	if head, _ := in.in.Peek(3); string(head) == "\ufeff" {
		_, _ = in.in.Discard(len(head))
	}
	if _, err := in.in.Peek(1); err != nil && !errors.Is(err, io.EOF) {
		return in.failed(err)
	}
	return read(in)
}

func (l *lines) isEmpty() bool {
	head, _ := l.in.Peek(1)
	return len(head) == 0
}

// isHlog reports whether the first line is that of an HdrHistogram log.
func (l *lines) isHlog() bool {
	head, _ := l.in.Peek(1 << 10)
	first, _, _ := bytes.Cut(head, []byte("\n"))
	line := string(first)
	return strings.HasPrefix(line, "#") || strings.HasPrefix(line, "Tag=") || strings.HasPrefix(line, legend) ||
		strings.Contains(line, ",HISTF")
}

// next returns the next line without its end; [io.EOF] after the last one.
func (l *lines) next() (string, error) {
	b, err := l.in.ReadSlice('\n')
	l.ended = err == nil
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		l.n++
		return "", l.bad("the line is too long for a log", howToLog)
	case errors.Is(err, io.EOF) && len(b) > 0:
	case errors.Is(err, io.EOF):
		return "", io.EOF
	case err != nil:
		return "", l.failed(err)
	}
	l.n++
	return strings.TrimRight(string(b), "\r\n"), nil
}

// failed says that the file cannot be read, or cannot be read on.
func (l *lines) failed(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) {
		l.n++
		return l.bad("the compressed file is damaged or cut short", "gunzip, and give the rest as a file of its own")
	}
	return fmt.Errorf("read %s: %w", l.file, err)
}

func (l *lines) place() place { return place{l.file, l.n} }

func (l *lines) bad(msg, hint string) error { return l.place().bad(msg, hint) }
