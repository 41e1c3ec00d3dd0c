package advice

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"

	"locklab/harness/untrusted"
)

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

// isEmpty reports whether there is no line.
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
