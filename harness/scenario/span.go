package scenario

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// A Span is a length of time that may be told in terms of the session timeout
// T that clients will get: 3s, 1.5T, expiry (T + 2 ticks), expiry+1s. The zero
// Span is no time at all. Spans are comparable.
type Span struct {
	Timeouts float64       // so many times T
	Expiry   bool          // T + 2 ticks
	Plus     time.Duration // and so much
}

// Lasting returns the span of a fixed length.
func Lasting(d time.Duration) Span { return Span{Plus: d} }

// maxSpan bounds the fixed part of a span, so that no sum overflows.
const maxSpan = 24 * time.Hour

const spanHint = "such as 3s, 1.5T (times the session timeout), expiry (the session timeout and 2 ticks) or expiry+1s"

// ParseSpan reads a span as String writes it.
func ParseSpan(text string) (Span, error) {
	if n, ok := strings.CutSuffix(text, "T"); ok {
		x, err := strconv.ParseFloat(n, 64)
		if err != nil || strings.Trim(n, "0123456789.") != "" {
			return Span{}, &valueError{msg: quote(text) + " is not a length of time", hint: spanHint}
		}
		if !(x > 0 && x <= 1000) {
			return Span{}, &valueError{msg: quote(text) + " is out of range", hint: "more than 0T and at most 1000T"}
		}
		return Span{Timeouts: x}, nil
	}
	if rest, ok := strings.CutPrefix(text, "expiry"); ok {
		if rest == "" {
			return Span{Expiry: true}, nil
		}
		if plus, ok := strings.CutPrefix(rest, "+"); ok {
			if d, err := parseDuration(plus); err == nil && d >= 0 && d <= maxSpan {
				return Span{Expiry: true, Plus: d}, nil
			}
		}
		return Span{}, &valueError{msg: quote(text) + " is not a length of time", hint: spanHint}
	}
	d, err := parseDuration(text)
	if err != nil {
		v := err.(*valueError)
		if v.hint == durationHint {
			v.hint = spanHint
		}
		return Span{}, &valueError{msg: quote(text) + " is not a length of time", hint: v.hint}
	}
	if d > maxSpan {
		return Span{}, &valueError{msg: quote(text) + " is out of range", hint: "at most " + formatDuration(maxSpan)}
	}
	return Lasting(d), nil
}

// IsZero reports whether the span is absent.
func (s Span) IsZero() bool { return s == Span{} }

// Resolve returns the span's length, given the negotiated session timeout and
// the servers' tick.
func (s Span) Resolve(timeout, tick time.Duration) time.Duration {
	d := s.Plus + time.Duration(math.Round(s.Timeouts*float64(timeout)))
	if s.Expiry {
		d += timeout + 2*tick
	}
	return d
}

func (s Span) String() string {
	switch {
	case s.Expiry && s.Plus != 0:
		return "expiry+" + formatDuration(s.Plus)
	case s.Expiry:
		return "expiry"
	case s.Timeouts != 0:
		return strconv.FormatFloat(s.Timeouts, 'f', -1, 64) + "T"
	}
	return formatDuration(s.Plus)
}

const durationHint = "a number and a unit, such as 20s, 500ms or 1m30s"

// parseDuration reads Go's notation. Only 0 needs no unit.
func parseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		hint := durationHint
		if _, bare := strconv.ParseFloat(text, 64); bare == nil {
			hint = "the unit is missing: " + text + "s or " + text + "ms"
		}
		return 0, &valueError{msg: quote(text) + " is not a duration", hint: hint}
	}
	return d, nil
}

// formatDuration writes Go's notation without its trailing zero units: 2m, not
// 2m0s.
func formatDuration(d time.Duration) string {
	t := d.String()
	if strings.HasSuffix(t, "m0s") {
		t = strings.TrimSuffix(t, "0s")
	}
	if strings.HasSuffix(t, "h0m") {
		t = strings.TrimSuffix(t, "0m")
	}
	return t
}
