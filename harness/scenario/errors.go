package scenario

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"locklab/harness/fail"
	"locklab/harness/settings"
)

// An InputError is a mistake in what the user wrote: where it is, what is wrong, and what to write instead. Its place
// is in a file (File, Line and Column, from 1), a flag or an environment variable (Flag: "--clients",
// "LOCKLAB_CLIENTS"), or neither (a scenario's name).
type InputError struct {
	File         string
	Line, Column int
	Flag         string
	Msg          string
	Hint         string // may be empty
}

// Is reports whether target is the class of this error.
func (e *InputError) Is(target error) bool { return target == fail.Input }

// Error returns "file:line:column: message (hint)", or "--flag: message (hint)".
func (e *InputError) Error() string {
	var b strings.Builder
	switch {
	case e.Flag != "":
		b.WriteString(e.Flag + ": ")
	case e.File != "" && e.Line > 0:
		fmt.Fprintf(&b, "%s:%d:%d: ", e.File, e.Line, e.Column)
	case e.File != "":
		b.WriteString(e.File + ": ")
	}
	b.WriteString(e.Msg)
	if e.Hint != "" {
		b.WriteString(" (" + e.Hint + ")")
	}
	return b.String()
}

// Refuse returns the error that the value of a flag is a mistake.
func Refuse(flag, hint, format string, args ...any) error {
	return &InputError{Flag: flag, Msg: fmt.Sprintf(format, args...), Hint: hint}
}

// inFlag places the error of a flag or a variable.
func inFlag(name string, err error) error {
	e := problem(err)
	return &InputError{Flag: name, Msg: e.Msg, Hint: e.Hint}
}

// problem returns a setting's error, which has no place.
func problem(err error) *settings.Error {
	if e, ok := errors.AsType[*settings.Error](err); ok {
		return e
	}
	return &settings.Error{Msg: err.Error()}
}

// maxErrors is how many errors of one file are shown.
const maxErrors = 20

// join makes one error of the first ones in the order of the file, and says how many more there are.
func join(errs []*InputError) error {
	slices.SortStableFunc(errs, func(a, b *InputError) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	var list []error
	for i, e := range errs {
		if i == maxErrors {
			list = append(list, fmt.Errorf("and %d more", len(errs)-maxErrors))
			break
		}
		list = append(list, e)
	}
	return errors.Join(list...)
}

// The bounds of a file. The parser's time can grow with the square of the size: it takes 15 s for 60,000 brackets that
// are never closed. No scenario comes near these bounds.
const (
	maxSource   = 64 << 10
	maxBrackets = 2000
)

// sound reports whether the parser can be given the source, and refuses it otherwise.
func (l *loader) sound(src []byte) bool {
	if len(src) > maxSource {
		msg := fmt.Sprintf("the file has %d bytes, which is too large", len(src))
		l.refuse(nil, msg, fmt.Sprintf("at most %d", maxSource))
		return false
	}
	brackets := 0
	for i := 0; i < len(src); {
		r, size := utf8.DecodeRune(src[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			l.refuseAt(src, i, "the file is not UTF-8", "save it as UTF-8")
			return false
		case r == '[' || r == '{':
			if brackets++; brackets > maxBrackets {
				l.refuseAt(src, i, "too many brackets", fmt.Sprintf("at most %d", maxBrackets))
				return false
			}
		}
		i += size
	}
	return true
}

func (l *loader) refuseAt(src []byte, offset int, msg, hint string) {
	before := src[:offset]
	start := bytes.LastIndexByte(before, '\n') + 1
	l.errs = append(l.errs, &InputError{File: l.file, Line: 1 + bytes.Count(before, []byte("\n")),
		Column: 1 + utf8.RuneCount(before[start:]), Msg: msg, Hint: hint})
}
