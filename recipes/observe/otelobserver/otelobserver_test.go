package otelobserver_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"locklab/recipes"
	"locklab/recipes/observe"
	"locklab/recipes/observe/otelobserver"
	"locklab/recipes/zksession"
)

// A notebook is a meter that writes down what is measured.
type notebook struct {
	noop.Meter
	lines []string
	err   error // of the instruments
}

func (n *notebook) note(name string, value any, attrs attribute.Set) {
	n.lines = append(n.lines, fmt.Sprint(name, " ", value, " ", attrs.Encoded(attribute.DefaultEncoder())))
}

type histogram struct {
	noop.Float64Histogram
	n    *notebook
	name string
}

func (h histogram) Record(_ context.Context, value float64, options ...metric.RecordOption) {
	h.n.note(h.name, value, metric.NewRecordConfig(options).Attributes())
}

type counter struct {
	noop.Int64Counter
	n    *notebook
	name string
}

func (c counter) Add(_ context.Context, value int64, options ...metric.AddOption) {
	c.n.note(c.name, value, metric.NewAddConfig(options).Attributes())
}

type upDown struct {
	noop.Int64UpDownCounter
	n    *notebook
	name string
}

func (c upDown) Add(_ context.Context, value int64, options ...metric.AddOption) {
	c.n.note(c.name, value, metric.NewAddConfig(options).Attributes())
}

func (n *notebook) Float64Histogram(
	name string, _ ...metric.Float64HistogramOption,
) (metric.Float64Histogram, error) {
	return histogram{n: n, name: name}, n.err
}

func (n *notebook) Int64Counter(name string, _ ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	return counter{n: n, name: name}, n.err
}

func (n *notebook) Int64UpDownCounter(
	name string, _ ...metric.Int64UpDownCounterOption,
) (metric.Int64UpDownCounter, error) {
	return upDown{n: n, name: name}, n.err
}

func TestMeasurements(t *testing.T) {
	for _, byLock := range []bool{false, true} {
		n := &notebook{}
		observer, err := otelobserver.New(otelobserver.Config{Meter: n, ByLock: byLock})
		if err != nil {
			t.Fatal(err)
		}
		for k := observe.Queued; k <= observe.Ended; k++ {
			observer(observe.Event{Kind: k, Recipe: "mutex", Lock: "/l", Ahead: 1, Took: 1500 * time.Millisecond})
		}
		at := ""
		if byLock {
			at = "lock.path=/l,"
		}
		want := []string{
			"lock.queued 1 lock.contended=true," + at + "lock.recipe=mutex",
			"lock.wait 1.5 lock.outcome=granted," + at + "lock.recipe=mutex",
			"lock.holds 1 " + at + "lock.recipe=mutex",
			"lock.wait 1.5 lock.outcome=failed," + at + "lock.recipe=mutex",
			"lock.held 1.5 lock.outcome=released," + at + "lock.recipe=mutex",
			"lock.holds -1 " + at + "lock.recipe=mutex",
			"lock.held 1.5 lock.outcome=lost," + at + "lock.recipe=mutex",
			"lock.holds -1 " + at + "lock.recipe=mutex",
			"lock.session.changes 1 lock.session.state=connected",
			"lock.session.changes 1 lock.session.state=disconnected",
			"lock.session.changes 1 lock.session.state=ended",
		}
		if !slices.Equal(n.lines, want) {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(n.lines, "\n"), strings.Join(want, "\n"))
		}
	}
}

func TestRefusals(t *testing.T) {
	if _, err := otelobserver.New(otelobserver.Config{}); err == nil {
		t.Error("no meter was accepted")
	}
	broken := errors.New("broken")
	if _, err := otelobserver.New(otelobserver.Config{Meter: &notebook{err: broken}}); !errors.Is(err, broken) {
		t.Errorf("got %v, want the meter's error", err)
	}
}

// A session whose locks are measured. A program gets the meter from its own provider, for example by
// otel.Meter("locks"), and an exporter makes Prometheus metrics of it.
func ExampleNew() {
	ctx := context.Background()
	meter := noop.NewMeterProvider().Meter("locks")
	observer, err := otelobserver.New(otelobserver.Config{Meter: meter})
	if err != nil {
		log.Fatal(err)
	}
	session, err := recipes.Connect(ctx, recipes.SessionConfig{
		Config:  zksession.Config{Servers: []string{"zk1:2181", "zk2:2181", "zk3:2181"}},
		Observe: observer,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close(ctx) // frees the locks; Close gives the service a second even if ctx has ended
}
