package serve

import (
	"fmt"
	"strings"
	"testing"

	"locklab/harness/history"
)

func TestInputReachesTheProcess(t *testing.T) {
	h := start(t, long)
	h.run("role-echo")
	longest := strings.Repeat("x", maxLine-1)
	for _, line := range []string{"arm f1 point", "", "ünïcode %s", longest} {
		if _, err := h.Input(t.Context(), line); err != nil {
			t.Fatal(err)
		}
	}
	if got := h.log(4); got[0] != "arm f1 point" || got[1] != "" || got[2] != "ünïcode %s" || got[3] != longest {
		t.Errorf("the process read %q", got)
	}
	for _, bad := range []string{"two\nlines", longest + "x"} {
		if _, err := h.Input(t.Context(), bad); err == nil {
			t.Errorf("a line of %d bytes was accepted", len(bad))
		}
	}
}

// A stopped process does not read. When its pipe is full, further lines are refused, no line is lost or cut, and
// other requests go on.
func TestAFullPipeBlocksNoOtherRequest(t *testing.T) {
	h := start(t, long)
	h.run("role-echo")
	if _, err := h.Pause(t.Context()); err != nil {
		t.Fatal(err)
	}
	// The lines are sized so that the pipe's end falls into a line.
	line := func(i int) string { return fmt.Sprintf("%04d ", i) + strings.Repeat("x", 2500) }
	taken := 0
	for {
		if _, err := h.Input(t.Context(), line(taken)); err != nil {
			if !strings.Contains(err.Error(), "timeout") {
				t.Fatal(err)
			}
			break
		}
		taken++
	}
	if taken == 0 {
		t.Fatal("nothing fits into the pipe")
	}
	// While one more line waits for room, all other requests succeed.
	waiting := make(chan error, 1)
	go func() { _, err := h.Input(t.Context(), line(taken)); waiting <- err }()
	if st := h.status(); st.State != history.ProcessStopped {
		t.Errorf("state: %+v", st)
	}
	if _, err := h.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-waiting; err != nil {
		t.Errorf("the process reads again, but the waiting line was refused: %v", err)
	}
	for i, got := range h.log(taken + 1) {
		if got != line(i) {
			t.Fatalf("line %d is %.10q… of %d bytes", i, got, len(got))
		}
	}
}
