package words

import (
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Value is *p, or 0 if p is nil.
func Value(p *int64) int64 {
	if p == nil {
		return 0
	}
	return *p
}

// Grouped writes n with commas: 18,204.
func Grouped(n int64) string {
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

// Count writes "one update" or "12 updates".
func Count(n int64, noun string) string {
	if n == 1 {
		return "one " + noun
	}
	if strings.HasSuffix(noun, "s") || strings.HasSuffix(noun, "ch") {
		return Grouped(n) + " " + noun + "es"
	}
	return Grouped(n) + " " + noun + "s"
}

// Are writes "one point is" or "12 points are".
func Are(n int64, noun string) string {
	if n == 1 {
		return Count(n, noun) + " is"
	}
	return Count(n, noun) + " are"
}

// Were writes "one update was" or "12 updates were".
func Were(n int64, noun string) string {
	if n == 1 {
		return Count(n, noun) + " was"
	}
	return Count(n, noun) + " were"
}

// Repeated writes ", 12 times", or nothing for once.
func Repeated(n int64) string {
	if n == 1 {
		return ""
	}
	return ", " + Grouped(n) + " times"
}

// Which writes "it" for the only one, "one of them", "3 of them" or "them".
func Which(n, of int64) string {
	switch {
	case of == 1:
		return "it"
	case n == of:
		return "them"
	case n == 1:
		return "one of them"
	}
	return Grouped(n) + " of them"
}

// Sentence ends s with a full stop, unless it ends like a sentence already.
func Sentence(s string) string {
	if s = strings.TrimSpace(s); s == "" || strings.ContainsRune(".!?", rune(s[len(s)-1])) {
		return s
	}
	return s + "."
}

// Upper makes the first letter upper case.
func Upper(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:]
}

// Duration formats nanoseconds for people: three digits and a unit.
func Duration(ns int64) string {
	v := float64(ns)
	if v < 0 {
		return "-" + Duration(-ns)
	}
	switch {
	case v == 0:
		return "0"
	case v < 999.5:
		return Digits3(v) + " ns"
	case v < 999.5e3:
		return Digits3(v/1e3) + " µs"
	case v < 999.5e6:
		return Digits3(v/1e6) + " ms"
	case v < 120e9:
		return Digits3(v/1e9) + " s"
	case v < 7200e9:
		return Digits3(v/60e9) + " min"
	}
	return Digits3(v/3600e9) + " h"
}

// Instant writes a time of a run, in nanoseconds, as seconds with three decimals.
func Instant(ns int64) string {
	return strconv.FormatFloat(time.Duration(ns).Seconds(), 'f', 3, 64) + " s"
}

// Digits3 writes v with three significant digits and no trailing zeros.
func Digits3(v float64) string {
	if v >= 100 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	r, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64)
	return strconv.FormatFloat(r, 'f', -1, 64)
}

// Share writes a share in per cent: three digits. One that is neither none nor all is not rounded to that.
func Share(v float64) string {
	text := Digits3(100 * v)
	if missing := 100 * (1 - v); missing > 0 && text == "100" {
		text = strconv.FormatFloat(100*v, 'f', int(math.Ceil(-math.Log10(missing))), 64)
	}
	return text + " %"
}

// Ratio writes v with three significant digits, and fewer below 1. Unlike Digits3 it keeps zeros at the end, so that
// the ratios of a table are as precise as they look.
func Ratio(v float64) string {
	decimals := 3
	for _, from := range []float64{0.9995, 9.995, 99.95} {
		if math.Abs(v) >= from {
			decimals--
		}
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}

// Absent is written for a number that was not measured.
const Absent = "n/a"

// Known writes *v by a format, or [Absent] if v is nil.
func Known[T any](v *T, format func(T) string) string {
	if v == nil {
		return Absent
	}
	return format(*v)
}

// Markdown makes plain text of one line, by escaping what has a meaning in Markdown, or in a table of it.
func Markdown(s string) string { return markdown.Replace(s) }

var markdown = strings.NewReplacer("\n", " ", `\`, `\\`, "|", `\|`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "*", `\*`,
	"_", `\_`, "`", "'", "[", `\[`, "~", `\~`,
	"://", `:\//`) // GitHub makes links of addresses
