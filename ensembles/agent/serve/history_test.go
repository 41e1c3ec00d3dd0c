package serve

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

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
		r, err := h.History(t.Context(), agent.HistoryRequest{Dir: "p/" + agent.ProcessHistoryDir, Offset: offset,
			Follow: follow})
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
	const n, enough = 400, 3 // lost connections
	written, lost := make(chan error, 1), make(chan struct{})
	go func() {
		for i := range n {
			if _, err := h.Input(t.Context(), fmt.Sprintf("event %d", i)); err != nil {
				written <- err
				return
			}
		}
		select {
		case <-lost:
		case <-t.Context().Done():
		}
		_, err := h.Stop(t.Context()) // the recorder does not close its file on SIGTERM
		written <- err
	}()
	var got []byte
	cuts := 0
	for buf := make([]byte, 777); ; cuts++ {
		r, err := h.History(t.Context(), agent.HistoryRequest{Dir: "p/" + agent.ProcessHistoryDir,
			Offset: int64(len(got)), Follow: true})
		if err != nil {
			t.Fatal(err)
		}
		m, err := io.ReadFull(r, buf)
		got = append(got, buf[:m]...)
		r.Close() // usually in the middle of a frame
		if err != nil {
			break // the process has ended, and its history is complete
		}
		if cuts == enough {
			close(lost)
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
	whole := h.decode(must(h.History(t.Context(), agent.HistoryRequest{Dir: "p/" + agent.ProcessHistoryDir})))
	if len(events) != len(whole) || cuts < enough {
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
	events := h.decode(must(h.History(t.Context(), agent.HistoryRequest{Dir: agent.HistoryDir, Offset: size})))
	if len(events) != 1 || !events[0].ProcessIs(history.ProcessExited) {
		t.Errorf("since the status: %v", events)
	}
}

// A client that follows the agent's own history gets each event once it is recorded.
func TestFollowTheAgent(t *testing.T) {
	h := start(t, long)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // long, because the machine may be busy
	defer cancel()
	r, err := h.History(ctx, agent.HistoryRequest{Dir: agent.HistoryDir, Follow: true})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var got []byte
	await := func(state history.ProcessState) {
		t.Helper()
		for buf := make([]byte, 777); ; {
			events, _, err := history.Decode(nil, got, map[string]string{})
			if err != nil {
				t.Fatal(err)
			}
			if n := len(events); n > 0 && events[n-1].ProcessIs(state) {
				return
			}
			n, err := r.Read(buf)
			if got = append(got, buf[:n]...); err != nil {
				t.Fatalf("the process %s: %v", state, err)
			}
		}
	}
	h.run("role-sleep")
	await(history.ProcessStarted)
	if _, err := h.Pause(ctx); err != nil {
		t.Fatal(err)
	}
	await(history.ProcessStopped)
	if _, err := h.Kill(ctx); err != nil {
		t.Fatal(err)
	}
	await(history.ProcessExited)
}

func TestBadHistoryRequests(t *testing.T) {
	h := start(t, long)
	for _, dir := range []string{"", "..", "../agent", "/etc", "a/../../b"} {
		if r, err := h.History(t.Context(), agent.HistoryRequest{Dir: dir}); err == nil {
			r.Close()
			t.Errorf("directory %q was read", dir)
		}
	}
	if r, err := h.History(t.Context(), agent.HistoryRequest{Dir: agent.HistoryDir, Offset: -1}); err == nil {
		r.Close()
		t.Error("offset -1 was read")
	}
	// A history that does not exist yet is empty.
	if events := h.decode(must(h.History(t.Context(), agent.HistoryRequest{Dir: "later/history"}))); len(events) != 0 {
		t.Errorf("%v", events)
	}
}

// What a client has collected is removed from the host. The rest is still there, and so is all of it if nobody says
// that it has arrived.
func TestCollect(t *testing.T) {
	h := start(t, long)
	h.run("role-recorder", "2200") // events, of which a segment takes a thousand
	dir := filepath.Join(h.root, "p", agent.ProcessHistoryDir)
	segments := func() int {
		names, err := filepath.Glob(filepath.Join(dir, "*"+history.SegmentSuffix))
		if err != nil {
			t.Fatal(err)
		}
		return len(names)
	}
	for segments() < 3 { // however long the machine's disk takes
		if st := h.status(); st.State == history.ProcessExited {
			t.Fatalf("%+v", st)
		}
		time.Sleep(2 * time.Millisecond)
	}
	eventually(t, "the second segment is cut to what it has", func() bool {
		st, err := os.Stat(filepath.Join(dir, "000001"+history.SegmentSuffix))
		return err == nil && st.Size() < 4<<20
	})
	if _, err := h.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	collect := func(collect bool) (whole []byte) {
		for {
			r, err := h.History(t.Context(), agent.HistoryRequest{Dir: "p/" + agent.ProcessHistoryDir,
				Offset: int64(len(whole)), Follow: true, Collect: collect})
			if err != nil {
				t.Fatal(err)
			}
			part, err := io.ReadAll(r)
			if r.Close(); err != nil {
				t.Fatal(err)
			}
			if len(part) == 0 {
				return whole
			}
			whole = append(whole, part...)
		}
	}
	whole := collect(false)
	if n := segments(); n != 3 {
		t.Errorf("%d segments are left, and nothing was collected", n)
	}
	if again := collect(true); !bytes.Equal(whole, again) {
		t.Errorf("%d bytes, and %d before", len(again), len(whole))
	}
	if n := segments(); n != 1 {
		t.Errorf("%d segments are left, want the last one only", n)
	}
	if r, err := h.History(t.Context(), agent.HistoryRequest{Dir: "p/" + agent.ProcessHistoryDir}); err == nil {
		r.Close()
		t.Error("what was collected can be read again")
	}
}
