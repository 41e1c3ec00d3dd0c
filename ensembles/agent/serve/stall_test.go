package serve

import (
	"errors"
	"slices"
	"testing"

	"locklab/ensembles/agent"
	"locklab/harness/history"
)

// says returns how often the process has printed a word.
func (h *host) says(word string) int {
	n := 0
	for _, line := range h.log(0) {
		if line == word {
			n++
		}
	}
	return n
}

// goesOn reports whether the process still prints a word while it prints another.
func (h *host) goesOn(word, beside string) bool {
	h.t.Helper()
	was, other := h.says(word), h.says(beside)
	eventually(h.t, "the process to say "+beside, func() bool { return h.says(beside) > other+20 })
	return h.says(word) > was
}

func TestAStallHoldsOneThread(t *testing.T) {
	h := start(t, long)
	h.run("role-disk")
	eventually(t, "the process to work", func() bool { return h.says("tick") > 0 && h.says("tock") > 0 })
	ctx := t.Context()
	for _, id := range []string{"f1", "f2", "f1"} {
		if _, err := h.Stall(ctx, id); err != nil {
			t.Fatal(err)
		}
	}
	if got := h.status().Stalls; !slices.Equal(got, []string{"f1", "f2"}) {
		t.Errorf("stalls %v", got)
	}
	if h.goesOn("tick", "tock") {
		t.Error("the thread goes on")
	}
	// Meanwhile the process can be stopped and continued as a whole, more than once.
	for range 3 {
		if _, err := h.Pause(ctx); err != nil {
			t.Fatal(err)
		}
		if _, err := h.Resume(ctx); err != nil {
			t.Fatal(err)
		}
		if h.goesOn("tick", "tock") {
			t.Error("after the process was continued, the thread goes on")
		}
	}
	// Healing one fault keeps the other in force.
	if _, err := h.Unstall(ctx, "f1"); err != nil {
		t.Fatal(err)
	}
	if h.goesOn("tick", "tock") {
		t.Error("the thread goes on after one of two was healed")
	}
	if _, err := h.Unstall(ctx, "f2"); err != nil {
		t.Fatal(err)
	}
	was := h.says("tick")
	eventually(t, "the thread to go on", func() bool { return h.says("tick") > was })
	if got := h.status().Stalls; len(got) > 0 {
		t.Errorf("stalls %v", got)
	}
	if _, err := h.Unstall(ctx, "f2"); err != nil {
		t.Errorf("healed a second time: %v", err)
	}
}

func TestAStallEndsWithItsProcess(t *testing.T) {
	h := start(t, long)
	if _, err := h.Stall(t.Context(), "f1"); !errors.Is(err, agent.ErrNoProcess) {
		t.Errorf("a stall without a process: %v", err)
	}
	h.run("role-sleep")
	if _, err := h.Stall(t.Context(), "f1"); err == nil {
		t.Error("a process without such a thread was stalled")
	}
	if _, err := h.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.run("role-disk")
	eventually(t, "the process to work", func() bool { return h.says("tick") > 0 })
	if _, err := h.Stall(t.Context(), "f1"); err != nil {
		t.Fatal(err)
	}
	pid := h.status().PID
	if _, err := h.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if st := h.is(history.ProcessExited); len(st.Stalls) > 0 || lives(pid) {
		t.Errorf("after the kill: %+v", st)
	}
	if _, err := h.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	was := h.says("tick")
	eventually(t, "the next process to work", func() bool { return h.says("tick") > was })
	if _, err := h.Stall(t.Context(), "f1"); err != nil {
		t.Errorf("the next process: %v", err)
	}
	if h.goesOn("tick", "tock") {
		t.Error("the next process's thread goes on")
	}
}
