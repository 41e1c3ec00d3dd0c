package reports

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// value is *p, or 0 for what was not measured.
func value(p *int64) int64 {
	if p == nil {
		return 0
	}
	return *p
}

// grouped writes n with commas: 18,204.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// count writes "one update" or "12 updates".
func count(n int64, noun string) string {
	if n == 1 {
		return "one " + noun
	}
	if strings.HasSuffix(noun, "s") {
		return grouped(n) + " " + noun + "es"
	}
	return grouped(n) + " " + noun + "s"
}

// were writes "one update was" or "12 updates were".
func were(n int64, noun string) string {
	if n == 1 {
		return count(n, noun) + " was"
	}
	return count(n, noun) + " were"
}

// repeated writes nothing for once, ", 12 times" for more.
func repeated(n int64) string {
	if n == 1 {
		return ""
	}
	return ", " + grouped(n) + " times"
}

// which writes "it" for the only one, "one of them", "3 of them" or "them".
func which(n, of int64) string {
	switch {
	case of == 1:
		return "it"
	case n == of:
		return "them"
	case n == 1:
		return "one of them"
	}
	return grouped(n) + " of them"
}

// sentence makes s end like one.
func sentence(s string) string {
	if s = strings.TrimSpace(s); s == "" || strings.ContainsRune(".!?", rune(s[len(s)-1])) {
		return s
	}
	return s + "."
}

func upper(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:]
}
