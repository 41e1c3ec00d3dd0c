package serve

import (
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"locklab/ensembles/agent"
	"locklab/harness/history"
)

// Renewals keep an agent alive for several leases. Without them the agent kills its process and the descendants, and
// ends, whatever requests it is serving.
func TestALapsedLeaseEndsTheAgentAndItsProcess(t *testing.T) {
	const lease = 2 * time.Second // on a busy machine, this process may come late to renew it
	h := start(t, lease)
	begun := time.Now()
	h.run("role-parent")
	child, err := strconv.Atoi(h.log(1)[0])
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "more than one lease", func() bool {
		if _, err := h.Renew(t.Context()); err != nil {
			t.Fatal(err)
		}
		return time.Since(begun) > lease+lease/2
	})
	pid := h.is(history.ProcessStarted).PID
	// A stopped process does not delay the end, but a client in the middle of a stream does.
	if _, err := h.Pause(t.Context()); err != nil {
		t.Fatal(err)
	}
	stream, err := h.History(t.Context(), agent.HistoryRequest{Dir: agent.HistoryDir, Follow: true})
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(lease + lease/2)
	if _, err := h.Status(t.Context()); err != nil {
		t.Errorf("an agent ends although the harness only stands still: %v", err)
	}
	stream.Close()
	h.Client.Close()
	h.ends()
	if lives(pid) || lives(child) {
		t.Errorf("process %d lives: %v; its child %d: %v", pid, lives(pid), child, lives(child))
	}
	if _, err := h.Status(t.Context()); err == nil {
		t.Error("an ended agent answers")
	}
	// Its history records the end.
	b, err := os.ReadFile(filepath.Join(h.root, agent.HistoryDir, "000000"+history.SegmentSuffix))
	if err != nil {
		t.Fatal(err)
	}
	events, _, err := history.Decode(nil, b, map[string]string{})
	if err != nil {
		t.Fatal(err)
	}
	if last := events[len(events)-1]; !last.ProcessIs(history.ProcessExited) || last.Detail != "killed" {
		t.Errorf("the history ends with %v", last)
	}
}

func TestAnInterruptEndsTheAgentAndItsProcess(t *testing.T) {
	h := start(t, long)
	h.run("role-stubborn")
	pid := h.status().PID
	if err := h.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	h.ends()
	if lives(pid) {
		t.Error("the process outlives its agent")
	}
}

// A stream that the end of the agent cuts off must not look complete.
func TestAStreamCutOffIsAnError(t *testing.T) {
	h := start(t, long)
	r, err := h.History(t.Context(), agent.HistoryRequest{Dir: agent.HistoryDir, Follow: true})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := h.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	for buf := make([]byte, 1024); ; {
		if _, err = r.Read(buf); err != nil {
			break
		}
	}
	if err.Error() == "EOF" {
		t.Error("the stream ended as if it were complete")
	}
	h.ends()
}

func TestLeaseOnVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLease(8 * time.Second)
		begun := time.Now()
		go func() {
			for range 5 {
				time.Sleep(7 * time.Second)
				l.renew()
				l.renew() // a second renewal at once neither blocks nor counts twice
			}
		}()
		if !l.lapsed(t.Context()) {
			t.Fatal("not lapsed")
		}
		if got := time.Since(begun); got != 43*time.Second { // the last renewal at 35 s
			t.Errorf("lapsed after %v", got)
		}
	})
}

// A harness that stands still keeps its connections, and so its lab, for a minute.
func TestLeaseOfAHarnessThatStandsStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for killed, want := range map[time.Duration]time.Duration{
			5 * time.Second: 8 * time.Second, 30200 * time.Millisecond: 30500 * time.Millisecond, time.Hour: time.Minute,
		} {
			l := newLease(8 * time.Second)
			l.connection(nil, http.StateNew)
			l.connection(nil, http.StateActive)
			time.AfterFunc(killed, func() { l.connection(nil, http.StateClosed) })
			begun := time.Now()
			if !l.lapsed(t.Context()) {
				t.Fatal("not lapsed")
			}
			if got := time.Since(begun); got != want {
				t.Errorf("killed after %v: lapsed after %v, want %v", killed, got, want)
			}
		}
	})
}

// A part that takes very long, because the machine stood still, counts as one part.
func TestLeaseOutlastsAStandstill(t *testing.T) {
	l := newLease(16 * time.Second)
	ticks := make(chan time.Time)
	l.after = func(part time.Duration) <-chan time.Time {
		if part != time.Second {
			t.Errorf("a part lasts %v", part)
		}
		return ticks
	}
	lapsed := make(chan bool, 1)
	go func() { lapsed <- l.lapsed(t.Context()) }()
	for range leaseParts - 1 {
		ticks <- time.Time{} // however late
	}
	l.renew()
	for len(l.renewed) > 0 {
		runtime.Gosched() // until the renewal has been seen
	}
	for range leaseParts - 1 {
		ticks <- time.Time{}
	}
	select {
	case <-lapsed:
		t.Error("lapsed one part too early")
	default:
	}
	ticks <- time.Time{}
	if !<-lapsed {
		t.Error("not lapsed")
	}
}
