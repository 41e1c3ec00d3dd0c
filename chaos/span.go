package chaos

import (
	"math"
	"strconv"
	"strings"
	"time"

	"locklab/harness/settings"
)

// A Span is a length of time that may depend on the session timeout T that clients will get: 3s, 1.5T, expiry
// (T + 2 ticks), expiry+1s. The zero Span is absent. Spans are comparable.
type Span struct {
	Timeouts float64       // so many times T
	Expiry   bool          // T + 2 ticks
	Plus     time.Duration // and so much
}

// Lasting returns the span of a fixed length.
func Lasting(d time.Duration) Span { return Span{Plus: d} }

// maxSpan bounds the fixed part of a span, so that no sum overflows.
const maxSpan = 24 * time.Hour

const spanHint = "such as 3s, 1.5T (times the session timeout), " +
	"expiry (the session timeout and 2 ticks) or expiry+1s"

// parseSpan reads a span as String writes it. The error is a [*settings.Error].
func parseSpan(text string) (Span, error) {
	noSpan := settings.Quote(text) + " is not a length of time"
	if n, ok := strings.CutSuffix(text, "T"); ok {
		x, err := strconv.ParseFloat(n, 64)
		if err != nil || strings.Trim(n, "0123456789.") != "" {
			return Span{}, &settings.Error{Msg: noSpan, Hint: spanHint}
		}
		if !(x > 0 && x <= 1000) {
			return Span{}, settings.Errorf("more than 0T and at most 1000T", "%s is out of range", settings.Quote(text))
		}
		return Span{Timeouts: x}, nil
	}
	if rest, ok := strings.CutPrefix(text, "expiry"); ok {
		if rest == "" {
			return Span{Expiry: true}, nil
		}
		if plus, ok := strings.CutPrefix(rest, "+"); ok {
			if d, err := settings.ParseDuration(plus); err == nil && d >= 0 && d <= maxSpan {
				return Span{Expiry: true, Plus: d}, nil
			}
		}
		return Span{}, &settings.Error{Msg: noSpan, Hint: spanHint}
	}
	d, err := settings.ParseDuration(text)
	if err != nil {
		hint := err.(*settings.Error).Hint
		if hint == settings.DurationHint {
			hint = spanHint
		}
		return Span{}, &settings.Error{Msg: noSpan, Hint: hint}
	}
	if d > maxSpan {
		hint := "at most " + settings.FormatDuration(maxSpan)
		return Span{}, settings.Errorf(hint, "%s is out of range", settings.Quote(text))
	}
	return Lasting(d), nil
}

// IsZero reports whether the span is absent.
func (s Span) IsZero() bool { return s == Span{} }

// Resolve returns the span's length, given the negotiated session timeout and the servers' tick.
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
		return "expiry+" + settings.FormatDuration(s.Plus)
	case s.Expiry:
		return "expiry"
	case s.Timeouts != 0:
		return settings.FormatNumber(s.Timeouts) + "T"
	}
	return settings.FormatDuration(s.Plus)
}

// MarshalText implements [encoding.TextMarshaler].
func (s Span) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (s *Span) UnmarshalText(text []byte) (err error) {
	*s, err = parseSpan(string(text))
	return err
}

// The patterns of spans that depend on the session timeout, and of all spans.
const (
	relativePattern = settings.NumberPattern + `T|expiry(\+` + settings.DurationPattern + `)?`
	spanPattern     = relativePattern + `|` + settings.DurationPattern + `|0`
)

// Schema implements [settings.Schemer].
func (Span) Schema() settings.Schema {
	return settings.Schema{"anyOf": []settings.Schema{
		settings.DurationSchema(), settings.TextSchema(`^(` + relativePattern + `)$`)}}
}

// A SpanRange is a range that lengths are drawn from, evenly. Both ends may be the same. Its text is
// "0.5T..expiry+1s", or a single span.
type SpanRange struct{ From, To Span }

func (r SpanRange) String() string {
	if r.From == r.To {
		return r.From.String()
	}
	return r.From.String() + ".." + r.To.String()
}

// MarshalText implements [encoding.TextMarshaler].
func (r SpanRange) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (r *SpanRange) UnmarshalText(text []byte) error {
	from, to, isRange := strings.Cut(string(text), "..")
	if !isRange {
		to = from
	}
	var both SpanRange
	var err error
	if both.From, err = parseSpan(strings.TrimSpace(from)); err == nil {
		both.To, err = parseSpan(strings.TrimSpace(to))
	}
	if err == nil {
		*r = both
	}
	return err
}

// Schema implements [settings.Schemer].
func (SpanRange) Schema() settings.Schema {
	one := `(` + spanPattern + `)`
	return settings.TextSchema(`^` + one + `( *\.\. *` + one + `)?$`)
}
