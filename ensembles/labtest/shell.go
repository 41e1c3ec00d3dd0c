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
	dir := "sh" + time.Now().Format("150405.000000000")
	if _, err := h.Agent.Start(t.Context(), agent.Spec{Argv: []string{"/bin/sh", "-c", command}, Dir: dir}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	err := ensembles.Poll(ctx, 20*time.Millisecond, "a command to end", func() error {
		st, err := h.Agent.Status(ctx)
		if err == nil && st.State != history.ProcessExited {
			err = fmt.Errorf("it is %s", st.State)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	r, err := h.Agent.File(t.Context(), dir+"/"+agent.LogFile)
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
