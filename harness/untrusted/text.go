package untrusted

import (
	"reflect"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line returns the text as one line that shows what it is: control characters, line breaks, marks that turn the
// direction of writing and bytes that are not UTF-8 become escapes such as \x1b and \u202e. A terminal, a report and a
// line of a format that others parse can then have it. Other text is returned as it is.
func Line(text string) string { return escape(text, hidden) }

// Text is as [Line], but leaves line breaks and tabs, for messages of several lines.
func Text(text string) string {
	return escape(text, func(r rune) bool { return r != '\n' && r != '\t' && hidden(r) })
}

func escape(text string, hidden func(rune) bool) string {
	if isPlain(text) || !strings.ContainsFunc(text, hidden) && utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for i, width := 0, 0; i < len(text); i += width {
		r, n := utf8.DecodeRuneInString(text[i:])
		width = n
		if r == utf8.RuneError && n == 1 || hidden(r) {
			quoted := strconv.QuoteToASCII(text[i : i+n])
			b.WriteString(quoted[1 : len(quoted)-1])
			continue
		}
		b.WriteString(text[i : i+n])
	}
	return b.String()
}

// isPlain reports whether a text is of ASCII's printable characters, as almost every text is.
func isPlain(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}

// hidden reports whether a character acts on what shows it instead of being seen. Spaces other than U+0020 are seen.
func hidden(r rune) bool { return !unicode.IsGraphic(r) || unicode.Is(lineBreaks, r) }

// lineBreaks are the characters that some readers take for the end of a line, though they are spaces to others.
var lineBreaks = &unicode.RangeTable{R16: []unicode.Range16{{Lo: 0x2028, Hi: 0x2029, Stride: 1}}}

// Lines makes a line of every string of a value, which is given by a pointer, as [Line] does: of fields, elements,
// keys and what pointers and interfaces have. Unexported fields stay as they are.
func Lines(v any) { lines(reflect.ValueOf(v).Elem()) }

func lines(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if v.CanSet() {
			v.SetString(Line(v.String()))
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			lines(field)
		}
	case reflect.Slice, reflect.Array:
		if k := v.Type().Elem().Kind(); k <= reflect.Complex128 {
			return // numbers
		}
		for i := range v.Len() {
			lines(v.Index(i))
		}
	case reflect.Map:
		if !v.CanInterface() {
			return // an unexported field, or part of one
		}
		for _, key := range v.MapKeys() {
			k, e := settable(key), settable(v.MapIndex(key))
			v.SetMapIndex(key, reflect.Value{})
			v.SetMapIndex(k, e)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			lines(v.Elem())
		}
	case reflect.Interface:
		if !v.IsNil() && v.CanSet() {
			v.Set(settable(v.Elem()))
		}
	}
}

// settable returns a copy whose strings are lines.
func settable(v reflect.Value) reflect.Value {
	c := reflect.New(v.Type()).Elem()
	c.Set(v)
	lines(c)
	return c
}
