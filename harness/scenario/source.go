package scenario

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

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

// refuseAt reports an error at the byte with that offset.
func (l *loader) refuseAt(src []byte, offset int, msg, hint string) {
	before := src[:offset]
	start := bytes.LastIndexByte(before, '\n') + 1
	l.errs = append(l.errs, &InputError{File: l.file, Line: 1 + bytes.Count(before, []byte("\n")),
		Column: 1 + utf8.RuneCount(before[start:]), Msg: msg, Hint: hint})
}
