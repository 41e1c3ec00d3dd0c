package chaos

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/harness/history"
)

// momentary injects a fault that is over at once. The fault must take effect, and its consequences must pass.
func momentary(t *testing.T, f Injector) *Harm {
	t.Helper()
	h, err := f.Inject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Verify(within(t, verifyCap)); err != nil {
		t.Errorf("the harm was not done: %v", err)
	}
	if h.Heal != nil {
		if at, err := h.Heal(t.Context()); err != nil || at <= h.At {
			t.Errorf("over at %d, harmed at %d: %v", at, h.At, err)
		}
	}
	if err := h.VerifyHealed(within(t, healedCap)); err != nil {
		t.Errorf("the harm does not pass: %v", err)
	}
	return h
}

// process returns the client host's process. Each start uses another directory, because the program begins a new
// history each time.
func (r *rig) process() Process {
	n := 0
	return Process{Host: r.c1, Restart: func(ctx context.Context) (int64, error) {
		n++
		spec := agent.Spec{
			Argv:  []string{"locklab", "resource", "config.json"},
			Dir:   fmt.Sprintf("p-%d-%d", time.Now().UnixNano(), n),
			Files: map[string]string{"config.json": fmt.Sprintf(`{"host":"c1","address":%q}`, r.c1.Address)},
		}
		st, err := r.c1.Agent.Start(ctx, spec)
		return st.At, err
	}}
}

func starts(t *testing.T, h *ensembles.Host) int {
	t.Helper()
	st, err := h.Agent.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return st.Starts
}

func testStopServer(t *testing.T, r *rig) {
	leader, followers := r.leader(t)
	h := inject(t, ending{Server(followers[0], r.ensemble), Process.stop})
	if st, err := followers[0].Agent.Status(t.Context()); err != nil ||
		!strings.Contains(st.Exit, "143") && st.Exit != "terminated" {
		t.Errorf("%+v, %v", st, err)
	}
	if now, _ := r.leader(t); now != leader {
		t.Errorf("the leader changed from %s to %s", leader.Name, now.Name)
	}
	heal(t, h)
}

func testCrashLoop(t *testing.T, r *rig) {
	before := starts(t, r.c1)
	h, err := r.process().crashLoop(t.Context(), 5)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Verify(within(t, verifyCap)); err != nil {
		t.Errorf("it does not crash again: %v", err)
	}
	if h.VerifyHealed(within(t, 300*time.Millisecond)) == nil {
		t.Error("the harm is over before it was healed")
	}
	eventually(t, "the last crash", func() bool { return starts(t, r.c1) >= before+4 })
	heal(t, h)
	if now := starts(t, r.c1); now < before+4 || now > before+5 {
		t.Errorf("started %d times for 5 crashes", now-before)
	}
	_, followers := r.leader(t)
	was := starts(t, followers[0])
	h, err = Server(followers[0], r.ensemble).crashLoop(t.Context(), mostCrashes)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Verify(within(t, 30*time.Second)); err != nil {
		t.Errorf("a server does not crash again: %v", err)
	}
	if _, err := h.Heal(t.Context()); err != nil {
		t.Error(err)
	}
	if err := h.VerifyHealed(within(t, healedCap)); err != nil {
		t.Error(err)
	}
	if h.Verify(within(t, time.Second)) == nil {
		t.Error("the loop goes on, or its verification cannot fail")
	}
	t.Logf("a server was started %d times", starts(t, followers[0])-was)
}

func testRolling(t *testing.T, r *rig) {
	var all []Process
	before := map[*ensembles.Host]int{}
	for _, h := range r.zk {
		all = append(all, Server(h, r.ensemble))
		before[h] = starts(t, h)
	}
	begun := time.Now()
	h, err := rollingRestart{all: all}.Inject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Verify(within(t, verifyCap)); err != nil {
		t.Error(err)
	}
	if h.VerifyHealed(within(t, time.Millisecond)) == nil {
		t.Error("over before the last was restarted")
	}
	// There is a quorum all the time, because never are two servers down.
	stop := make(chan struct{})
	worst := make(chan int, 1)
	go func() {
		down := 0
		for {
			n := 0
			for _, z := range r.zk {
				if st, err := z.Agent.Status(context.Background()); err == nil && st.State == history.ProcessExited {
					n++
				}
			}
			down = max(down, n)
			select {
			case <-stop:
				worst <- down
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	if err := h.Over(within(t, 2*healedCap)); err != nil {
		t.Error(err)
	}
	if _, err := h.Heal(t.Context()); err != nil {
		t.Error(err)
	}
	if err := h.VerifyHealed(within(t, healedCap)); err != nil {
		t.Error(err)
	}
	close(stop)
	if n := <-worst; n > 1 {
		t.Errorf("%d servers were down at once", n)
	}
	for z, n := range before {
		if now := starts(t, z); now != n+1 {
			t.Errorf("%s was started %d times", z.Name, now-n)
		}
	}
	t.Logf("three servers, one after the other, took %v", time.Since(begun))
}

func testSlowDisk(t *testing.T, r *rig) {
	leader, followers := r.leader(t)
	h := inject(t, slowDisk{id: "f1", host: followers[0], ensemble: r.ensemble})
	// The server answers, and the others commit without it.
	if answer, err := followers[0].Agent.Ask(t.Context(), "ruok"); err != nil || answer != "imok" {
		t.Errorf("it answers %q, %v", answer, err)
	}
	if err := leader.Agent.CommitWrite(within(t, 5*time.Second)); err != nil {
		t.Errorf("a majority without it commits nothing: %v", err)
	}
	heal(t, h)
	// With two of three disks stalled, nothing is committed any more. The test looks within the sync limit. After
	// that, the leader drops both servers, and a server that joins anew acknowledges through another thread what it
	// missed.
	h, err := (slowDisk{id: "f1", host: followers[0], ensemble: r.ensemble}).Inject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	more, err := (slowDisk{id: "f2", host: followers[1], ensemble: r.ensemble}).Inject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if leader.Agent.CommitWrite(within(t, lookCap)) == nil {
		t.Error("a minority commits a write")
	}
	if _, err := more.Heal(t.Context()); err != nil {
		t.Error(err)
	}
	if err := h.Verify(within(t, verifyCap)); err != nil {
		t.Errorf("healing one healed the other: %v", err)
	}
	heal(t, h)
	heal(t, more) // only now, because a server that its leader has dropped may wait for the other disk until then
	// A stalled server can be paused and killed.
	h = inject(t, slowDisk{id: "f1", host: followers[0], ensemble: r.ensemble})
	heal(t, inject(t, pause{host: followers[0]}))
	if err := h.Verify(within(t, verifyCap)); err != nil {
		t.Errorf("a pause healed the stall: %v", err)
	}
	heal(t, inject(t, ending{Server(followers[0], r.ensemble), Process.kill}))
	if _, err := h.Heal(t.Context()); err != nil {
		t.Error(err)
	}
	if err := h.VerifyHealed(within(t, healedCap)); err != nil {
		t.Error(err)
	}
	if h, err := (slowDisk{id: "f1", host: r.c1, ensemble: r.ensemble}).Inject(t.Context()); err == nil || h != nil {
		t.Error("the disk of a process that has none was stalled")
	}
}
