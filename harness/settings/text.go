package settings

import (
	"encoding"
	"errors"
	"flag"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

var (
	marshaler    = reflect.TypeFor[encoding.TextMarshaler]()
	unmarshaler  = reflect.TypeFor[encoding.TextUnmarshaler]()
	flagValue    = reflect.TypeFor[flag.Value]()
	durationType = reflect.TypeFor[time.Duration]()
	sizeType     = reflect.TypeFor[Size]()
)

// isText reports whether the type has a text form of its own.
func isText(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(flagValue) || t.Implements(marshaler) && p.Implements(unmarshaler)
}

// isBuiltin reports whether this package gives the type its text form.
func isBuiltin(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Int, reflect.Uint64, reflect.Float64, reflect.Bool, reflect.String:
		return true
	}
	return t == durationType || t == sizeType
}

// format returns the text of a value, which parse reads back.
func format(v reflect.Value) string {
	if v.CanAddr() {
		if f, ok := v.Addr().Interface().(flag.Value); ok {
			return f.String()
		}
	}
	switch x := v.Interface().(type) {
	case encoding.TextMarshaler:
		text, err := x.MarshalText()
		if err != nil {
			return "" // parse will say what is wrong
		}
		return string(text)
	case time.Duration:
		return FormatDuration(x)
	case Size:
		return x.String()
	}
	switch v.Kind() {
	case reflect.Int:
		return strconv.FormatInt(v.Int(), 10)
	case reflect.Uint64:
		return strconv.FormatUint(v.Uint(), 10)
	case reflect.Float64:
		return FormatNumber(v.Float())
	case reflect.Bool:
		return strconv.FormatBool(v.Bool())
	}
	return v.String()
}

func parse(t reflect.Type, text string) (reflect.Value, error) {
	v := reflect.New(t)
	switch u := v.Interface().(type) {
	case flag.Value:
		return v.Elem(), asError(u.Set(text))
	case encoding.TextUnmarshaler:
		return v.Elem(), asError(u.UnmarshalText([]byte(text)))
	}
	var value any
	var err error
	switch {
	case t == durationType:
		value, err = ParseDuration(text)
	case t == sizeType:
		value, err = ParseSize(text)
	case t.Kind() == reflect.Int:
		value, err = ParseInt(text)
	case t.Kind() == reflect.Uint64:
		value, err = ParseUint(text)
	case t.Kind() == reflect.Float64:
		value, err = ParseNumber(text)
	case t.Kind() == reflect.Bool:
		value, err = ParseBool(text)
	default:
		value, err = text, CheckLine(text)
	}
	if err == nil {
		v.Elem().Set(reflect.ValueOf(value).Convert(t))
	}
	return v.Elem(), err
}

func asError(err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Msg: err.Error()}
}

// ParseInt reads a whole number.
func ParseInt(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if errors.Is(err, strconv.ErrRange) {
		return 0, &Error{Quote(text) + " is too large a number", "fewer digits"}
	}
	if err != nil {
		return 0, &Error{Quote(text) + " is not a whole number", "digits only, such as 16"}
	}
	return n, nil
}

// ParseUint reads a whole number that is not negative.
func ParseUint(text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, &Error{Quote(text) + " is not a whole number from 0 to 18446744073709551615", "digits only, such as 16"}
	}
	return n, nil
}

// ParseNumber reads a finite number that may have a fraction and an exponent.
func ParseNumber(text string) (float64, error) {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || strings.Trim(text, "0123456789.eE+-") != "" {
		return 0, &Error{Quote(text) + " is not a number", "digits, such as 0.9"}
	}
	return x + 0, nil // -0 is 0
}

// FormatNumber writes a number without an exponent.
func FormatNumber(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// ParseBool reads true or false as YAML 1.1, kong and [strconv.ParseBool] do together: true, t, yes, y, on, 1 and their
// opposites, in any case.
func ParseBool(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "true", "t", "yes", "y", "on", "1":
		return true, nil
	case "false", "f", "no", "n", "off", "0":
		return false, nil
	}
	return false, &Error{Quote(text) + " is neither true nor false", "true or false, yes or no, on or off, 1 or 0"}
}

// DurationHint is the hint about a text that does not look like a duration.
const DurationHint = "a number and a unit, such as 20s, 500ms or 1m30s"

// ParseDuration reads Go's notation of durations. Only 0 needs no unit.
func ParseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		hint := DurationHint
		if _, bare := strconv.ParseFloat(text, 64); bare == nil {
			hint = "the unit is missing: " + text + "s or " + text + "ms"
		}
		return 0, &Error{Quote(text) + " is not a duration", hint}
	}
	return d, nil
}

// FormatDuration writes Go's notation without trailing units that are 0: 2m instead of 2m0s.
func FormatDuration(d time.Duration) string {
	t := d.String()
	if strings.HasSuffix(t, "m0s") {
		t = strings.TrimSuffix(t, "0s")
	}
	if strings.HasSuffix(t, "h0m") {
		t = strings.TrimSuffix(t, "0m")
	}
	return t
}

// CheckLine refuses a text that is not one line of printable characters.
func CheckLine(text string) error {
	if !utf8.ValidString(text) {
		return &Error{"text is not UTF-8", "save the file as UTF-8"}
	}
	for _, r := range text {
		if !unicode.IsPrint(r) {
			return &Error{"unprintable character " + strconv.QuoteRune(r), "one line of plain text"}
		}
	}
	return nil
}

// mostPaths is how many names NearestPath returns at most, where a word is only a part of them.
const mostPaths = 4

// NearestPath is [Nearest] for names that consist of parts with dots between them. If no name is close to the word, it
// returns the first names that have the word as a part, or what it may be a slip for: acquire.p99 for p99.
func NearestPath(word string, known []string) []string {
	if near := Nearest(word, known); len(near) > 0 {
		return near
	}
	var parts []string
	for _, k := range known {
		parts = append(parts, strings.Split(k, ".")...)
	}
	slices.Sort(parts)
	parts = slices.Compact(parts)
	if !slices.Contains(parts, word) {
		like := Nearest(word, parts)
		if len(like) != 1 {
			return nil
		}
		word = like[0]
	}
	var near []string
	for _, k := range known {
		if slices.Contains(strings.Split(k, "."), word) && len(near) < mostPaths {
			near = append(near, k)
		}
	}
	return near
}

// A Size is a number of bytes.
type Size int64

// The units of Size.
const (
	KiB Size = 1 << 10
	MiB Size = 1 << 20
	GiB Size = 1 << 30
)

var sizeUnits = []struct {
	name string
	size Size
}{{"GiB", GiB}, {"MiB", MiB}, {"KiB", KiB}}

// ParseSize reads a whole number and a unit: 256MiB.
func ParseSize(text string) (Size, error) {
	for _, u := range sizeUnits {
		digits, ok := strings.CutSuffix(text, u.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
		if err != nil || n < 0 || n > math.MaxInt64/int64(u.size) {
			break
		}
		return Size(n) * u.size, nil
	}
	return 0, &Error{Quote(text) + " is not a size", "a whole number and KiB, MiB or GiB, such as 256MiB"}
}

// String writes the size in the largest unit that divides it.
func (s Size) String() string {
	for _, u := range sizeUnits {
		if s != 0 && s%u.size == 0 {
			return strconv.FormatInt(int64(s/u.size), 10) + u.name
		}
	}
	if s == 0 {
		return "0MiB"
	}
	return strconv.FormatInt(int64(s), 10) + "B"
}

// Texts reads a file of texts, each of which has a name and a colon before it. Its further lines are indented.
func Texts(file string) map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(strings.ReplaceAll(file, "\n  ", " ")) {
		name, text, _ := strings.Cut(strings.TrimSpace(line), ": ")
		all[name] = text
	}
	return all
}
