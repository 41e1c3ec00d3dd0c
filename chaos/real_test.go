package chaos

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/ensembles"
	"locklab/ensembles/labtest"
	"locklab/ensembles/labtest/suite"
	"locklab/harness/history"
)

// This test covers the faults of processes, partitions and disks, one after the other, on one real lab.
func TestFaults(t *testing.T) {
	t.Parallel()
	lab := newLab(t)
	stop := labtest.WatchControl(t, lab)
	defer stop()
	t.Run("trigger", func(t *testing.T) { testTrigger(t, lab.Host("zk1")) })
	r := newRig(t, lab)
	for _, c := range []struct {
		name string
		test func(*testing.T, *rig)
	}{
		{"pause a client", testPauseClient}, {"pause a server", testPauseServer}, {"interrupted injections", testInterrupted},
		{"kill a follower", testKillFollower},
		{"cut the leader off", testPartitionLeader}, {"cut a client off", testPartitionClient},
		{"faults of one host", testTogether},
		{"stop a server", testStopServer}, {"crash loops", testCrashLoop},
		{"rolling restart", testRolling}, {"slow disks", testSlowDisk},
		{"faults without a target", testNothingThere},
	} {
		ok := t.Run(c.name, func(t *testing.T) {
			if c.name == "crash loops" || c.name == "rolling restart" {
				suite.Nightly(t, "harness/run injects one every time")
			}
			c.test(t, r)
			for _, h := range lab.Hosts(ensembles.Server, ensembles.Client, ensembles.Resource) {
				if st, err := h.Agent.Status(t.Context()); err != nil || len(st.Rules) > 0 || st.State == history.ProcessStopped {
					t.Errorf("%s is left %+v, %v", h.Name, st, err)
				}
			}
			if err := r.ensemble.AwaitReady(t.Context()); err != nil {
				t.Errorf("the ensemble is not whole afterwards: %v", err)
			}
		})
		if !ok && t.Context().Err() != nil {
			return
		}
	}
}

func testPauseClient(t *testing.T, r *rig) {
	h := inject(t, pause{host: r.c1})
	if st, err := r.c1.Agent.Status(t.Context()); err != nil || st.State != history.ProcessStopped {
		t.Errorf("%+v, %v", st, err)
	}
	if st, err := r.c2.Agent.Status(t.Context()); err != nil || st.State == history.ProcessStopped {
		t.Errorf("another client is stopped, too: %+v, %v", st, err)
	}
	heal(t, h)
}

func testPauseServer(t *testing.T, r *rig) {
	_, followers := r.leader(t)
	h := inject(t, pause{host: followers[0], ensemble: r.ensemble})
	if answer, err := followers[0].Agent.Ask(t.Context(), "ruok"); err == nil {
		t.Errorf("a stopped server answers %q", answer)
	}
	if answer, err := followers[1].Agent.Ask(t.Context(), "ruok"); err != nil || answer != "imok" {
		t.Errorf("another server answers %q, %v", answer, err)
	}
	heal(t, h)
	// A stopped server whose followers left it comes back as a follower.
	leader, others := r.leader(t)
	h = inject(t, pause{host: leader, ensemble: r.ensemble})
	eventually(t, "another leader", func() bool {
		now, err := (&ensembles.Ensemble{Servers: others}).Leader(t.Context())
		return err == nil && now != leader
	})
	heal(t, h)
	if now, err := r.ensemble.Roles(t.Context()); err != nil || len(now) != len(r.zk) {
		t.Errorf("the harm is over, and the servers are %v, %v", now, err)
	}
}

// An interrupted injection leaves no harm that would never be healed. Either it returns the harm, or there is none,
// and there will be none.
func testInterrupted(t *testing.T, r *rig) {
	interrupted := 0
	for i := range 40 {
		for _, f := range []Injector{pause{host: r.c1}, r.cut("f1", between(r.clients(1), r.zk))} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*50*time.Microsecond)
			h, err := f.Inject(ctx)
			if ctx.Err() != nil {
				interrupted++
			}
			cancel()
			if (h == nil) != (err != nil) {
				t.Errorf("harm %v, error %v", h, err)
			}
			if h != nil {
				if _, err := h.Heal(t.Context()); err != nil {
					t.Error(err)
				}
			}
			if st, err := r.c1.Agent.Status(t.Context()); err != nil || st.State == history.ProcessStopped ||
				len(st.Rules) > 0 {
				t.Fatalf("after %T was interrupted: %+v, %v", f, st, err)
			}
		}
	}
	t.Logf("%d injections were interrupted", interrupted)
	if interrupted == 0 {
		t.Error("no injection was interrupted")
	}
	// Healing a kill is slow, so one is enough.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if h, err := Server(r.zk[0], r.ensemble).kill(ctx); h != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("a kill that was interrupted before it began: %v", err)
	}
	if st, err := r.zk[0].Agent.Status(t.Context()); err != nil || st.State == history.ProcessExited {
		t.Errorf("%+v, %v", st, err)
	}
}

func testKillFollower(t *testing.T, r *rig) {
	leader, followers := r.leader(t)
	h := inject(t, ending{Server(followers[0], r.ensemble), Process.kill})
	if st, err := followers[0].Agent.Status(t.Context()); err != nil || st.Exit != "killed" {
		t.Errorf("%+v, %v", st, err)
	}
	// The others still serve.
	if now, _ := r.leader(t); now != leader {
		t.Errorf("the leader changed from %s to %s", leader.Name, now.Name)
	}
	if err := leader.Agent.CommitWrite(t.Context()); err != nil {
		t.Error(err)
	}
	heal(t, h)
	if st, err := followers[0].Agent.Status(t.Context()); err != nil || st.Starts < 2 {
		t.Errorf("%+v, %v", st, err)
	}
}

func testPartitionLeader(t *testing.T, r *rig) {
	leader, others := r.leader(t)
	h := inject(
		t,
		cut{
			id:       "f1",
			links:    between([]*ensembles.Host{leader}, others),
			pass:     between([]*ensembles.Host{leader}, r.clients(2)),
			ensemble: r.ensemble,
		},
	)
	if !slices.Equal(h.Hosts, r.names(append([]*ensembles.Host{leader}, others...)...)) {
		t.Errorf("it strikes %v", h.Hosts)
	}
	// Neither side reaches the other; clients reach both.
	if got := reaches(t, leader, server(others[0]), server(others[1])); got != "--" {
		t.Errorf("the leader reaches its followers: %s", got)
	}
	for _, f := range others {
		if got := reaches(t, f, server(leader)); got != "-" {
			t.Errorf("%s reaches the leader: %s", f.Name, got)
		}
	}
	if got := reaches(t, r.c1, server(leader), server(others[0]), server(others[1])); got != "+++" {
		t.Errorf("a client reaches the servers: %s", got)
	}
	eventually(t, "the others to elect a leader", func() bool {
		now, err := (&ensembles.Ensemble{Servers: others}).Leader(t.Context())
		return err == nil && now != leader
	})
	eventually(t, "the old leader to give up", func() bool {
		roles, err := r.ensemble.Roles(t.Context())
		return err == nil && roles[leader.Name] == ""
	})
	heal(t, h)
	if got := reaches(t, leader, server(others[0]), server(others[1])); got != "++" {
		t.Errorf("healed, the old leader reaches the others: %s", got)
	}
}

func testPartitionClient(t *testing.T, r *rig) {
	servers := r.ensemble.Addresses()
	h := inject(
		t,
		cut{
			id:       "f1",
			links:    between(r.clients(1), r.zk),
			pass:     between(r.clients(1), []*ensembles.Host{r.lab.Host("r1")}),
			ensemble: r.ensemble,
		},
	)
	if got := reaches(t, r.c1, append(servers, r.resource)...); got != "---+" {
		t.Errorf("the client reaches servers and resource: %s", got)
	}
	if got := reaches(t, r.c2, append(servers, r.resource)...); got != "++++" {
		t.Errorf("another client reaches servers and resource: %s", got)
	}
	heal(t, h)
	if got := reaches(t, r.c1, append(servers, r.resource)...); got != "++++" {
		t.Errorf("healed, the client reaches servers and resource: %s", got)
	}
}

// With several faults of one host, healing one keeps the others, even if they concern the same peers.
func testTogether(t *testing.T, r *rig) {
	r1 := []*ensembles.Host{r.lab.Host("r1")}
	cut := func(id string, from ...*ensembles.Host) cut {
		return cut{id: id, links: between(r.clients(1), from), pass: between(r.clients(1), r1), ensemble: r.ensemble}
	}
	servers := r.ensemble.Addresses()
	f1, f2, f3 := inject(t, cut("f1", r.zk[0])), inject(t, cut("f2", r.zk[0], r.zk[1])), inject(t, pause{host: r.c1})
	steps := []struct {
		heal  *Harm
		reach string
		there []*Harm
		gone  []*Harm
	}{
		{nil, "--+", []*Harm{f1, f2, f3}, nil},
		{f2, "-++", []*Harm{f1, f3}, []*Harm{f2}},
		{f3, "-++", []*Harm{f1}, []*Harm{f2, f3}},
		{f1, "+++", nil, []*Harm{f1, f2, f3}},
	}
	for i, s := range steps {
		if s.heal != nil {
			if _, err := s.heal.Heal(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if got := reaches(t, r.c1, servers...); got != s.reach {
			t.Errorf("step %d: the client reaches the servers: %s, want %s", i, got, s.reach)
		}
		for _, h := range s.there {
			if err := h.Verify(within(t, verifyCap)); err != nil {
				t.Errorf("step %d: %v", i, err)
			}
		}
		for _, h := range s.gone {
			if h.Verify(within(t, time.Second)) == nil {
				t.Errorf("step %d: healed harm is verified", i)
			}
		}
	}
	for _, h := range []*Harm{f1, f2, f3} {
		if err := h.VerifyHealed(within(t, healedCap)); err != nil {
			t.Error(err)
		}
	}
	// A cut that takes more than it should is not the one that was asked for, unless another fault takes the rest.
	narrow := cut("f1", r.zk[0])
	wide := cut("f1", r.zk[0], r1[0])
	wide.pass = nil
	more := inject(t, wide)
	if err := narrow.fault().verify(t.Context()); err == nil || !strings.Contains(err.Error(), "nothing passes") {
		t.Errorf("a cut that takes the resource, too, is verified: %v", err)
	}
	if _, err := more.Heal(t.Context()); err != nil {
		t.Error(err)
	}
	other := cut("f2", r1...)
	other.pass = nil
	two := []*Harm{inject(t, narrow), inject(t, other)}
	for _, h := range two {
		if err := h.Verify(within(t, verifyCap)); err != nil {
			t.Error(err)
		}
		if _, err := h.Heal(t.Context()); err != nil {
			t.Error(err)
		}
		if err := h.VerifyHealed(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// Harm is verified by its effect, not by the commands that were sent.
func testNothingThere(t *testing.T, r *rig) {
	_, followers := r.leader(t)
	none := r.cut("f9", between([]*ensembles.Host{r.c2}, r.zk))
	if err := none.fault().verify(t.Context()); err == nil || !strings.Contains(err.Error(), "still pass") {
		t.Errorf("a partition that nobody injected: %v", err)
	}
	if err := pausedHarm(r.c2, 1).Verify(within(t, time.Second)); err == nil {
		t.Error("a pause that nobody injected is verified")
	}
	// Healing a fault that is not there changes nothing.
	for name, f := range map[string]func(context.Context) (int64, error){
		"pause": pausedHarm(r.c2, 1).Heal, "partition": none.fault().heal, "kill": Server(followers[0], r.ensemble).start,
	} {
		if _, err := f(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Hosts that cannot be harmed are not harmed.
	r1 := r.lab.Host("r1") // runs nothing
	for _, f := range []Injector{pause{host: r1}, ending{Server(r1, r.ensemble), Process.kill},
		r.cut("", between([]*ensembles.Host{r1}, r.zk)),
		r.cut("f1", nil), reset{r.ends("", r1, r.c2)}, loss{r.ends("f1", r1, r.zk...), 0},
		bandwidth{r.ends("f1", r1, r.zk...), 0}, latency{ends: r.ends("f1", r1, r.zk...)}} {
		if h, err := f.Inject(t.Context()); err == nil || h != nil {
			t.Errorf("%s was injected", fmt.Sprintf("%T", f))
		}
	}
	// Neither is the control connection, by which faults are healed. In other labs than those of containers it does not
	// pass through the lab's network.
	if labtest.Kind() != ensembles.LabDocker {
		return
	}
	gateway := &ensembles.Host{Name: "gateway", Address: netip.PrefixFrom(r1.Address, 24).Masked().Addr().Next()}
	if h, err := r.cut("f1", between([]*ensembles.Host{r1}, []*ensembles.Host{gateway})).Inject(t.Context()); err == nil ||
		h != nil ||
		!strings.Contains(err.Error(), "control connection") {
		t.Errorf("a cut of the control connection: %v", err)
	}
}
