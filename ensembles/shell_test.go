package ensembles_test

import (
	"io"
	"testing"
	"time"

	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/harness/history"
)

// runShell runs a shell command as a server host's process and returns its output.
func runShell(t *testing.T, h *ensembles.Host, command string) string {
	t.Helper()
	dir := "sh" + time.Now().Format("150405.000000000")
	if _, err := h.Agent.Start(t.Context(), agent.Spec{Argv: []string{"/bin/sh", "-c", command}, Dir: dir}); err != nil {
		t.Fatal(err)
	}
	eventually(t, 20*time.Second, "a command to end", func() bool {
		st, err := h.Agent.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return st.State == history.ProcessExited
	})
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
