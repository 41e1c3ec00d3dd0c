package hiccups

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"locklab/harness/history"
)

const (
	// Period is how long each sleep should take.
	Period = 10 * time.Millisecond
	// Long is the least overshoot that has an event of its own.
	Long = 20 * time.Millisecond
)

// A Recorder takes events.
type Recorder interface {
	Record(e history.Event) error
	Clock() history.Clock
}

// Meter records long overshoots until ctx ends, because a standstill may cost a session at any time. Then it records
// the distribution of all others between two times (ns of the recorder's clock). If ctx ends before the first, it
// records no distribution.
func Meter(ctx context.Context, rec Recorder, from, until int64) error {
	clock := rec.Clock()
	short := New()
	for {
		begun := clock.Now()
		if !sleep(ctx, Period) {
			if begun < from {
				return nil
			}
			text, err := Encode(short)
			if err != nil {
				return err
			}
			return rec.Record(history.Hiccups{Count: short.TotalCount(), Distribution: text}.Event())
		}
		now := clock.Now()
		over := max(0, time.Duration(now-begun)-Period)
		if over >= Long {
			if err := rec.Record(history.HiccupOf(now, over)); err != nil {
				return err
			}
			continue
		}
		if begun < from || now > until {
			continue
		}
		if err := short.RecordValue(int64(over)); err != nil {
			return fmt.Errorf("measure hiccups: %w", err)
		}
	}
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// New returns an empty distribution of overshoots, in ns with three digits.
func New() *hdrhistogram.Histogram { return hdrhistogram.New(1e3, int64(time.Hour), 3) }

// Encode writes a distribution as text.
func Encode(h *hdrhistogram.Histogram) (string, error) {
	b, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return "", fmt.Errorf("encode hiccups: %w", err)
	}
	return string(b), nil
}

// Decode reads what Encode wrote. It fails for every other text.
func Decode(text string) (h *hdrhistogram.Histogram, err error) {
	defer func() {
		if r := recover(); r != nil { // the library slices what it reads without checking its length
			h, err = nil, fmt.Errorf("decode hiccups: %v", r)
		}
	}()
	if text == "" {
		return nil, errors.New("decode hiccups: the text is empty")
	}
	if h, err = hdrhistogram.Decode([]byte(text)); err != nil {
		return nil, fmt.Errorf("decode hiccups: %w", err)
	}
	return h, nil
}
