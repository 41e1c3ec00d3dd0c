package serve

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

	"locklab/ensembles/agent"
	"locklab/harness/history"
)

// details lists the details of a history's events.
func details(events []history.Event) []string {
	var all []string
	for _, e := range events {
		all = append(all, e.Detail)
	}
	return all
}

func TestHistoryFromAnyOffset(t *testing.T) {
	h := start(t, long)
	h.run("role-recorder")
	var want []string
	for i := range 50 {
		want = append(want, fmt.Sprintf("event %d", i))
		if _, err := h.Input(t.Context(), want[i]); err != nil {
			t.Fatal(err)
		}
	}
	read := func(offset int64, follow bool) []byte {
		t.Helper()
		r, err := h.History(t.Context(), "p/"+agent.ProcessHistoryDir, offset, follow)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	var all []byte
	eventually(t, "all events", func() bool {
		all = read(0, false)
		events, _, err := history.Decode(nil, all, map[string]string{})
		return err == nil && len(events) == len(want)
	})
	if events := h.decode(io.NopCloser(bytes.NewReader(all))); cmp.Diff(want, details(events)) != "" {
		t.Errorf("events differ:\n%s", cmp.Diff(want, details(events)))
	}
	for _, offset := range []int{8, len(all) / 2, len(all) - 1, len(all)} {
		if got := read(int64(offset), false); !bytes.Equal(got, all[offset:]) {
			t.Errorf("from offset %d: %d bytes, want the last %d", offset, len(got), len(all)-offset)
		}
	}
	if got := read(int64(len(all))+100, false); len(got) != 0 {
		t.Errorf("from beyond the end: %d bytes", len(got))
	}
	if _, err := h.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	// Everything that a killed process wrote is there, and following it comes to an end.
	if got := read(0, true); !bytes.Equal(got, all) {
		t.Errorf("after the kill: %d bytes, want %d", len(got), len(all))
	}
}

// A client that follows a history and loses the connection again and again misses nothing and gets nothing twice, up
// to the end of a killed process.
func TestFollowAndReconnect(t *testing.T) {
	h := start(t, long)
	h.run("role-recorder")
	const n = 400
	written := make(chan error, 1)
	go func() {
		for i := range n {
			if _, err := h.Input(t.Context(), fmt.Sprintf("event %d", i)); err != nil {
				written <- err
				return
			}
		}
		_, err := h.Stop(t.Context()) // the recorder does not close its file on SIGTERM
		written <- err
	}()
	var got []byte
	cuts := 0
	for buf := make([]byte, 777); ; cuts++ {
		r, err := h.History(t.Context(), "p/"+agent.ProcessHistoryDir, int64(len(got)), true)
		if err != nil {
			t.Fatal(err)
		}
		m, err := io.ReadFull(r, buf)
		got = append(got, buf[:m]...)
		r.Close() // usually in the middle of a frame
		if err != nil {
			break // the process has ended, and its history is complete
		}
	}
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	events := h.decode(io.NopCloser(bytes.NewReader(got)))
	for i, e := range events {
		if want := fmt.Sprintf("event %d", i); e.Detail != want {
			t.Fatalf("event %d says %q", i, e.Detail)
		}
	}
	// SIGTERM may have arrived before the process had read its last lines.
	whole := h.decode(must(h.History(t.Context(), "p/"+agent.ProcessHistoryDir, 0, false)))
	if len(events) != len(whole) || len(events) == 0 || cuts < 3 {
		t.Errorf("%d events over %d connections, want %d", len(events), cuts+1, len(whole))
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// The agent's own history can be read while the agent lives. The status has its size, so that a reader can continue
// from there.
func TestOwnHistory(t *testing.T) {
	h := start(t, long)
	h.run("role-sleep")
	size := h.status().HistoryBytes
	if size == 0 {
		t.Fatal("the start is not in the history")
	}
	if _, err := h.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	events := h.decode(must(h.History(t.Context(), agent.HistoryDir, size, false)))
	if len(events) != 1 || !events[0].ProcessIs(history.ProcessExited) {
		t.Errorf("since the status: %v", events)
	}
}

func TestBadHistoryRequests(t *testing.T) {
	h := start(t, long)
	for _, dir := range []string{"", "..", "../agent", "/etc", "a/../../b"} {
		if r, err := h.History(t.Context(), dir, 0, false); err == nil {
			r.Close()
			t.Errorf("directory %q was read", dir)
		}
	}
	if r, err := h.History(t.Context(), agent.HistoryDir, -1, false); err == nil {
		r.Close()
		t.Error("offset -1 was read")
	}
	// A history that does not exist yet is empty.
	if events := h.decode(must(h.History(t.Context(), "later/history", 0, false))); len(events) != 0 {
		t.Errorf("%v", events)
	}
}
