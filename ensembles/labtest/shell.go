package labtest

import (
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/harness/history"
)

// Shell runs a shell command as a server host's process and returns its output.
func Shell(t testing.TB, h *ensembles.Host, command string) string {
	t.Helper()
	return Output(t, h, 20*time.Second, agent.Spec{Argv: []string{"/bin/sh", "-c", command},
		Dir: "sh" + time.Now().Format("150405.000000000")})
}

// Output starts a process of a host, waits up to limit until it has ended, and returns what it wrote.
func Output(t testing.TB, h *ensembles.Host, limit time.Duration, spec agent.Spec) string {
	t.Helper()
	if _, err := h.Agent.Start(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	err := ensembles.Poll(ctx, 20*time.Millisecond, spec.Argv[0]+" to end", func() error {
		st, err := h.Agent.Status(ctx)
		if err == nil && st.State != history.ProcessExited {
			err = fmt.Errorf("it is %s", st.State)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	r, err := h.Agent.File(t.Context(), spec.Dir+"/"+agent.LogFile)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
