// Package otelobserver turns what happens to locks and sessions into OpenTelemetry metrics.
//
// In flow: events of package observe. Out flow: measurements of a meter, from which an exporter makes Prometheus
// metrics or others. The package needs the module go.opentelemetry.io/otel/metric and what that needs; the locks do
// not.
package otelobserver

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"locklab/recipes/observe"
)

// Config says what to measure with.
type Config struct {
	// Meter makes the instruments. Required.
	Meter metric.Meter
	// ByLock gives the measurements of locks the attribute lock.path. Each path makes new time series, so it is for a
	// program that uses few locks.
	ByLock bool

	_ struct{} // no positional literals
}

// bounds are the boundaries of the histograms' buckets in seconds: from a round trip to a long wait.
var bounds = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}

// instruments are what the events are measured with.
type instruments struct {
	wait, held     metric.Float64Histogram
	holds          metric.Int64UpDownCounter
	states, queued metric.Int64Counter
	byLock         bool
}

// New returns an observer that measures
//
//   - lock.wait (histogram, s): the time of each acquisition; lock.outcome is granted or failed;
//   - lock.held (histogram, s): the time of each hold; lock.outcome is released or lost;
//   - lock.holds (up-down counter): the holds that there are now;
//   - lock.queued (counter): how often a contender queued; lock.contended is whether another was ahead;
//   - lock.session.changes (counter): the changes of sessions; lock.session.state is connected, disconnected or ended.
//
// Measurements of locks have the attribute lock.recipe. Several sessions may share one observer. The error is that of
// the meter.
func New(cfg Config) (func(observe.Event), error) {
	if cfg.Meter == nil {
		return nil, errors.New("otel observer: no meter given")
	}
	m := &instruments{byLock: cfg.ByLock}
	var errs [5]error
	m.wait, errs[0] = cfg.Meter.Float64Histogram("lock.wait", metric.WithUnit("s"),
		metric.WithDescription("time of an acquisition"), metric.WithExplicitBucketBoundaries(bounds...))
	m.held, errs[1] = cfg.Meter.Float64Histogram("lock.held", metric.WithUnit("s"),
		metric.WithDescription("time of a hold"), metric.WithExplicitBucketBoundaries(bounds...))
	m.holds, errs[2] = cfg.Meter.Int64UpDownCounter("lock.holds", metric.WithUnit("{hold}"),
		metric.WithDescription("present holds"))
	m.queued, errs[3] = cfg.Meter.Int64Counter("lock.queued", metric.WithUnit("{contender}"),
		metric.WithDescription("contenders that queued"))
	m.states, errs[4] = cfg.Meter.Int64Counter("lock.session.changes", metric.WithUnit("{change}"),
		metric.WithDescription("changes of sessions"))
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("otel observer: %w", err)
	}
	return m.observe, nil
}

func (m *instruments) observe(e observe.Event) {
	ctx := context.Background()
	switch outcome := attribute.String("lock.outcome", e.Kind.String()); e.Kind {
	case observe.Queued:
		m.queued.Add(ctx, 1, m.of(e, attribute.Bool("lock.contended", e.Ahead > 0)))
	case observe.Granted:
		m.wait.Record(ctx, e.Took.Seconds(), m.of(e, outcome))
		m.holds.Add(ctx, 1, m.of(e))
	case observe.Failed:
		m.wait.Record(ctx, e.Took.Seconds(), m.of(e, outcome))
	case observe.Released, observe.Lost:
		m.held.Record(ctx, e.Took.Seconds(), m.of(e, outcome))
		m.holds.Add(ctx, -1, m.of(e))
	case observe.Connected, observe.Disconnected, observe.Ended:
		m.states.Add(ctx, 1, metric.WithAttributes(attribute.String("lock.session.state", e.Kind.String())))
	}
}

func (m *instruments) of(e observe.Event, more ...attribute.KeyValue) metric.MeasurementOption {
	attrs := append(more, attribute.String("lock.recipe", e.Recipe))
	if m.byLock {
		attrs = append(attrs, attribute.String("lock.path", e.Lock))
	}
	return metric.WithAttributes(attrs...)
}
