package chaos

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/harness/history"
)

// watcher is a witness that reports a trigger once the host's process has stopped, or never if it is deaf.
type watcher struct {
	host *ensembles.Host
	deaf bool
}

func (w watcher) Triggered(ctx context.Context, fault, _ string) (history.Event, error) {
	err := ensembles.Poll(ctx, pollEvery, "the trigger", func() error {
		st, err := w.host.Agent.Status(ctx)
		if err == nil && (w.deaf || st.State != history.ProcessStopped) {
			err = errors.New("not yet")
		}
		return err
	})
	return history.Event{Fault: fault, At: 1}, err
}

// testTrigger uses a server's host before its server runs, because that host has a shell.
func testTrigger(t *testing.T, h *ensembles.Host) {
	run := func(t *testing.T, script string) {
		t.Helper()
		spec := agent.Spec{Argv: []string{"/bin/sh", "-c", script}, Dir: t.Name()}
		if _, err := h.Agent.Start(t.Context(), spec); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = h.Agent.Kill(context.WithoutCancel(t.Context())) })
	}
	said := func(t *testing.T) string {
		r, err := h.Agent.File(t.Context(), t.Name()+"/"+agent.LogFile)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		b, _ := io.ReadAll(r)
		return string(b)
	}
	const stopsWhenArmed = `while read -r word rest; do echo "$word $rest"; case $word in arm) kill -STOP $$;; esac; done`
	const listens = `while read -r word rest; do echo "$word $rest"; done`
	p := pauseAtTrigger{
		byClient: byClient{id: "f1", host: h, do: "arm f1", undo: "disarm f1", witness: watcher{host: h}},
		point:    "a point",
	}

	t.Run("fires", func(t *testing.T) {
		run(t, stopsWhenArmed)
		heal(t, inject(t, p))
	})
	t.Run("does not fire", func(t *testing.T) {
		run(t, listens)
		harm, err := p.Inject(within(t, 300*time.Millisecond))
		if harm != nil || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "a point") {
			t.Errorf("%v", err)
		}
		eventually(t, "the trigger to be disarmed", func() bool { return said(t) == "arm f1\ndisarm f1\n" })
	})
	t.Run("fires after the wait has ended", func(t *testing.T) {
		run(t, stopsWhenArmed)
		deaf := p
		deaf.witness = watcher{host: h, deaf: true}
		harm, err := deaf.Inject(within(t, time.Second))
		if err == nil || harm == nil {
			t.Fatalf("a client that has stopped itself is left to itself: %v", err)
		}
		heal(t, harm)
	})
	t.Run("has no process", func(t *testing.T) {
		if harm, err := p.Inject(t.Context()); harm != nil || !errors.Is(err, agent.ErrNoProcess) {
			t.Errorf("%v", err)
		}
	})
}
