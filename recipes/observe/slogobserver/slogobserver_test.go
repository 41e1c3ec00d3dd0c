package slogobserver_test

import (
	"context"
	"errors"
	"log"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"locklab/recipes"
	"locklab/recipes/observe"
	"locklab/recipes/observe/slogobserver"
	"locklab/recipes/zksession"
)

// withoutTime makes records that do not change from run to run.
func withoutTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}

func TestRecords(t *testing.T) {
	var out strings.Builder
	observer := slogobserver.New(slog.New(slog.NewTextHandler(&out,
		&slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: withoutTime})))
	lock := observe.Event{Session: 0x1f, Recipe: "mutex", Lock: "/l", Token: 7, Took: time.Second}
	session := observe.Event{Session: 0x1f, Server: "zk1:2181", Took: time.Second}
	for _, x := range []struct {
		kind  observe.Kind
		event observe.Event
		err   error
		want  string
	}{
		{observe.Queued, lock, nil, `level=DEBUG msg="lock queued" session=0x1f recipe=mutex lock=/l ahead=0`},
		{observe.Granted, lock, nil, `level=DEBUG msg="lock granted" session=0x1f recipe=mutex lock=/l token=7 wait=1s`},
		{observe.Failed, lock, errors.New("no"),
			`level=INFO msg="lock failed" session=0x1f recipe=mutex lock=/l wait=1s error=no`},
		{observe.Released, lock, nil, `level=DEBUG msg="lock released" session=0x1f recipe=mutex lock=/l token=7 held=1s`},
		{observe.Lost, lock, errors.New("gone"),
			`level=WARN msg="lock lost" session=0x1f recipe=mutex lock=/l token=7 held=1s error=gone`},
		{observe.Connected, session, nil, `level=INFO msg="session connected" session=0x1f down=1s server=zk1:2181`},
		{observe.Disconnected, session, errors.New("EOF"),
			`level=WARN msg="session disconnected" session=0x1f server=zk1:2181 error=EOF`},
		{observe.Ended, session, errors.New("over"),
			`level=INFO msg="session ended" session=0x1f server=zk1:2181 error=over`},
	} {
		out.Reset()
		x.event.Kind, x.event.Err = x.kind, x.err
		observer(x.event)
		if got := strings.TrimSpace(out.String()); got != x.want {
			t.Errorf("got  %s\nwant %s", got, x.want)
		}
	}
}

// A logger that wants only warnings hears nothing of what locks do all day.
func TestLevel(t *testing.T) {
	var out strings.Builder
	observer := slogobserver.New(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelWarn})))
	for k := observe.Queued; k <= observe.Ended; k++ {
		observer(observe.Event{Kind: k, Lock: "/l"})
	}
	if got := strings.Count(out.String(), "\n"); got != 2 {
		t.Errorf("%d records, want those of the loss and the disconnect:\n%s", got, out.String())
	}
}

// A session whose locks are logged.
func ExampleNew() {
	ctx, logger := context.Background(), slog.New(slog.NewJSONHandler(os.Stderr, nil))
	session, err := recipes.Connect(ctx, recipes.SessionConfig{
		Config:  zksession.Config{Servers: []string{"zk1:2181", "zk2:2181", "zk3:2181"}},
		Observe: slogobserver.New(logger),
	})
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close(ctx) // frees the locks; Close gives the service a second even if ctx has ended
}
