package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/ensembles/labtest"
	"locklab/harness/history"
	"locklab/workloads"
	"locklab/workloads/control"
)

// A contest is an ensemble whose clients contend for a lock, for tests of faults that need sessions and znodes.
type contest struct {
	*rig
	clock bool // the servers' clocks can be set
}

const lock = "/run1/lock0"

// old is a directory whose counter of children has almost reached its end, and the number of children that it can
// still count.
const old, left = "/run1/old", 4

// This test covers the faults of sessions, znodes and clocks.
func TestFaultsOfClients(t *testing.T) {
	t.Parallel()
	lab := newLab(t)
	stop := labtest.WatchControl(t, lab)
	defer stop()
	c := newContest(t, lab)
	for _, test := range []struct {
		name string
		test func(*testing.T, *contest)
	}{
		{"clock", testClock}, {"prepared", testPrepared}, {"foreign children", testForeignChildren},
		{"expire", testExpire}, {"expire at a trigger", testExpireHolder},
		{"move", testMove}, {"delete a znode", testDeleteNode}, {"delete a parent", testDeleteParent},
		{"administrator", testAdministrator},
	} {
		if !t.Run(test.name, func(t *testing.T) { test.test(t, c) }) && t.Context().Err() != nil {
			return
		}
	}
}

func newContest(t *testing.T, lab *ensembles.Lab) *contest {
	t.Helper()
	c := &contest{rig: &rig{lab: lab, zk: lab.Hosts(ensembles.Server), c1: lab.Host("c1"), c2: lab.Host("c2")}}
	cfg := labtest.ServerConfig()
	cfg.Clock, cfg.Data = true, labtest.Prepared(labtest.PreparedDir{Path: old, Left: left})
	var err error
	c.ensemble, err = ensembles.StartEnsemble(t.Context(), lab, cfg)
	c.clock = err == nil
	if errors.Is(err, agent.ErrUnsupported) {
		t.Logf("clocks cannot be set here: %v", err)
		if !strings.Contains(err.Error(), "libfaketime") {
			t.Errorf("it does not say what is missing: %v", err)
		}
		cfg.Clock = false
		c.ensemble, err = ensembles.StartEnsemble(t.Context(), lab, cfg)
	}
	if err != nil {
		t.Fatal(err)
	}
	r1 := lab.Host("r1")
	run(t, r1, "resource", control.ResourceConfig{Host: "r1", Address: r1.Address})
	c.contend(t, c.c1, lock)
	return c
}

// run starts one of the binary's processes.
func run(t *testing.T, h *ensembles.Host, command string, config any) {
	t.Helper()
	b, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	spec := agent.Spec{
		Argv:  []string{"locklab", command, "config.json"},
		Dir:   "p",
		Files: map[string]string{"config.json": string(b)},
	}
	if _, err := h.Agent.Start(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	eventually(t, h.Name+" to be ready", func() bool {
		return len(events(t, h, func(e history.Event) bool { return e.Op == history.OpReady })) > 0
	})
}

// contend starts two clients that contend for a lock, with pauses in which no client contends.
func (c *contest) contend(t *testing.T, h *ensembles.Host, path string) {
	t.Helper()
	var servers []control.Server
	for _, z := range c.zk {
		servers = append(servers, control.Server{Name: z.Name, Address: server(z).String()})
	}
	run(
		t,
		h,
		"client",
		control.ClientConfig{
			Host:           h.Name,
			Servers:        servers,
			Resource:       netip.AddrPortFrom(c.lab.Host("r1").Address, control.ResourcePort).String(),
			Recipe:         "mutex",
			Workload:       workloads.Mutex,
			Locks:          []string{path},
			Clients:        2,
			AllClients:     2,
			SessionTimeout: 4 * time.Second,
			Load: workloads.Load{
				Hold:  workloads.Always(20 * time.Millisecond),
				Think: workloads.Always(150 * time.Millisecond),
			},
			Drain: workloads.DrainCancel,
			Seed:  1,
		},
	)
	now := history.NewClock().Now()
	if _, err := h.Agent.Input(t.Context(), control.FormatGo(now, now+int64(time.Hour))); err != nil {
		t.Fatal(err)
	}
}

// events returns the matching events of a host's process.
func events(t *testing.T, h *ensembles.Host, want func(history.Event) bool) []history.Event {
	t.Helper()
	all, err := eventsOf(t.Context(), h, want)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func eventsOf(ctx context.Context, h *ensembles.Host, want func(history.Event) bool) ([]history.Event, error) {
	r, err := h.Agent.History(ctx, agent.HistoryRequest{Dir: "p/" + agent.ProcessHistoryDir})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	raw, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	all, _, err := history.Decode(nil, raw, map[string]string{})
	var found []history.Event
	for _, e := range all {
		if want(e) {
			found = append(found, e)
		}
	}
	return found, err
}

// A reader is a witness that reads the client's history.
type reader struct{ host *ensembles.Host }

func (r reader) Triggered(ctx context.Context, fault, _ string) (e history.Event, err error) {
	err = ensembles.Poll(ctx, pollEvery, "the client to do it", func() error {
		all, err := eventsOf(ctx, r.host, func(e history.Event) bool { return e.Fault == fault })
		if err == nil && len(all) == 0 {
			err = errors.New("not yet")
		}
		if err == nil {
			e = all[len(all)-1]
		}
		return err
	})
	return e, err
}

// grants waits until the lock has been granted a few times more.
func (c *contest) grants(t *testing.T) {
	t.Helper()
	count := func() int {
		return len(events(t, c.c1, func(e history.Event) bool { return e.Op == history.OpAcquire && e.Kind == history.OK }))
	}
	was := count()
	eventually(t, "the lock to be granted", func() bool { return count() > was+2 })
}

func (c *contest) byClient(id, do, undo string) byClient {
	return byClient{id: id, host: c.c1, do: do, undo: undo, witness: reader{c.c1}, ensemble: c.ensemble}
}

func testExpire(t *testing.T, c *contest) {
	h := momentary(
		t,
		expireSession{c.byClient("x1", control.FormatStrike("x1", control.StrikeExpire, "c1/0"), control.FormatDisarm("x1"))},
	)
	if len(h.Sessions) != 1 || h.Sessions[0] == 0 {
		t.Fatal("the harm does not name its session")
	}
	// The client learns that its session is over, and goes on in another.
	eventually(t, "the client to learn of it", func() bool {
		return len(
			events(t, c.c1, func(e history.Event) bool { return e.Op == history.OpExpired && e.Session == h.Sessions[0] }),
		) == 1
	})
	c.connectsAnew(t, "c1/0", h)
	c.grants(t)
}

// connectsAnew waits until a client has another session than the one that was harmed.
func (c *contest) connectsAnew(t *testing.T, client string, h *Harm) {
	t.Helper()
	eventually(t, client+" to connect anew", func() bool {
		return len(events(t, c.c1, func(e history.Event) bool {
			return e.Op == history.OpConnected && e.Client == client && e.Session != h.Sessions[0] && e.At > h.At
		})) > 0
	})
}

func testExpireHolder(t *testing.T, c *contest) {
	h := momentary(
		t,
		expireSession{
			c.byClient("x2", control.FormatArmTo("x2", control.BetweenReadAndWrite, control.StrikeExpire),
				control.FormatDisarm("x2")),
		},
	)
	held := events(t, c.c1, func(e history.Event) bool { return e.Op == history.OpTrigger && e.Fault == "x2" })
	if len(held) != 1 || held[0].Lock != lock || held[0].Token == 0 || held[0].Session != h.Sessions[0] {
		t.Fatalf("struck %v", held)
	}
	c.connectsAnew(t, held[0].Client, h) // the grants may all be the other client's
	c.grants(t)
}

func testMove(t *testing.T, c *contest) {
	h, err := moveClient{
		c.byClient("m1", control.FormatStrike("m1", control.StrikeMove, "c1/1"), control.FormatSettle("m1")),
	}.Inject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Verify(within(t, verifyCap)); err != nil {
		t.Error(err)
	}
	from := events(t, c.c1, func(e history.Event) bool { return e.Fault == "m1" })[0]
	now := events(t, c.c1, func(e history.Event) bool {
		return e.Op == history.OpConnected && e.Session == h.Sessions[0] && e.At > h.At
	})
	if len(now) == 0 || now[0].Target == from.Target {
		t.Errorf("moved from %v to %v", from, now)
	}
	if at, err := h.Heal(t.Context()); err != nil || at <= h.At {
		t.Error(at, err)
	}
	if err := h.VerifyHealed(within(t, healedCap)); err != nil {
		t.Error(err)
	}
	c.grants(t)
}

func testDeleteNode(t *testing.T, c *contest) {
	connected := events(t, c.c1, func(e history.Event) bool { return e.Op == history.OpConnected && e.Client == "c1/0" })
	session := connected[len(connected)-1].Session
	h := momentary(t, deleteNode{ensemble: c.ensemble, lock: lock, session: of(session), host: c.c1})
	if len(h.Nodes) != 1 || !strings.HasPrefix(h.Nodes[0], lock+"/") || len(h.Sessions) != 1 ||
		h.Sessions[0] != session || !slices.Equal(h.Hosts, []string{"c1"}) {
		t.Errorf("%+v", h)
	}
	c.grants(t)
}

func testDeleteParent(t *testing.T, c *contest) {
	h := momentary(t, deleteParent{ensemble: c.ensemble, lock: lock})
	if len(h.Nodes) != 1 || h.Nodes[0] != lock {
		t.Errorf("%+v", h)
	}
	c.grants(t)
	// A directory that was created anew is not the one that was deleted.
	if err := h.Verify(within(t, verifyCap)); err != nil {
		t.Error(err)
	}
}

func testForeignChildren(t *testing.T, c *contest) {
	c.grants(t) // so that the lock's directory is there
	f1, f2 := inject(t, foreignChildren{id: "f1", ensemble: c.ensemble, lock: lock}), inject(t,
		foreignChildren{id: "f2", ensemble: c.ensemble, lock: lock})
	c.grants(t)
	heal(t, f1)
	if err := f2.Verify(within(t, verifyCap)); err != nil {
		t.Errorf("healing one took the other's: %v", err)
	}
	if h, err := (deleteParent{ensemble: c.ensemble, lock: lock}).Inject(within(t, time.Second)); h != nil ||
		err == nil ||
		!strings.Contains(err.Error(), "children") {
		t.Errorf("a directory with children was deleted: %v", err)
	}
	heal(t, f2)
	nowhere := "/run1/nowhere"
	early := foreignChildren{id: "f1", ensemble: c.ensemble, lock: nowhere}
	if _, err := early.Inject(within(t, time.Second)); err == nil || !strings.Contains(err.Error(), nowhere) {
		t.Error("foreign children were created in a directory that does not exist")
	}
	none := deleteNode{ensemble: c.ensemble, lock: nowhere, session: of(1)}
	if h, err := none.Inject(within(t, time.Second)); h != nil || !errors.Is(err, ErrNobody) {
		t.Errorf("a contender's znode was deleted where there is none: %v", err)
	}
}

// Administrators' requests outside the run's own znodes are refused.
func testAdministrator(t *testing.T, c *contest) {
	for _, bad := range []agent.NodeRequest{
		{Op: "setData", Path: lock},
		{Op: agent.NodesDelete, Path: "/zookeeper/quota"},
		{Op: agent.NodesCreate, Path: "/other/x"},
		{Op: agent.NodesDelete, Path: "/run1/../zookeeper"},
		{Op: agent.NodesList, Path: "/"},
		{Op: agent.NodesList, Path: "/running"},
		{Op: agent.NodesDelete, Path: "/run1"},
	} {
		if a, err := c.zk[0].Agent.Nodes(t.Context(), bad); err == nil || !strings.Contains(err.Error(), "nodes: ") {
			t.Errorf("%+v: %+v, %v", bad, a, err)
		}
	}
}

// When a directory's counter reaches its end, our recipe counts up to there. It then reports an error instead of
// taking a number that is out of order.
func testPrepared(t *testing.T, c *contest) {
	c.contend(t, c.c2, old)
	failed := func() []history.Event {
		return events(t, c.c2, func(e history.Event) bool { return e.Op == history.OpAcquire && e.Kind == history.Fail })
	}
	eventually(t, "an acquire that is refused", func() bool { return len(failed()) > 0 })
	granted := events(t, c.c2, func(e history.Event) bool { return e.Op == history.OpAcquire && e.Kind == history.OK })
	if n := len(granted); n == 0 || n > left {
		t.Errorf("%d grants of %d numbers", n, left)
	}
	if e := failed()[0]; !strings.Contains(e.Detail, "exhausted") {
		t.Errorf("refused because of %q", e.Detail)
	}
}

func testClock(t *testing.T, c *contest) {
	_, followers := c.leader(t)
	step := clockStep{host: followers[0], by: time.Hour, ensemble: c.ensemble}
	if !c.clock {
		if h, err := step.Inject(t.Context()); h != nil || err == nil {
			t.Errorf("a server without a clock that can be set: %v", err)
		}
		return
	}
	if h, err := (clockStep{host: followers[0], by: time.Second, ensemble: c.ensemble}).Inject(t.Context()); h != nil ||
		err == nil {
		t.Error("a step that is too small to be verified was made")
	}
	sessions := func() int {
		return len(
			events(t, c.c1, func(e history.Event) bool { return e.Op == history.OpDisconnected || e.Op == history.OpExpired }),
		)
	}
	was := sessions()
	h := inject(t, step)
	// Only this server's clock is shifted, and no session expires, because sessions are timed by the monotonic clock.
	if off, err := serverClock(t.Context(), followers[1]); err != nil || off.Abs() > clockSlack {
		t.Errorf("another server's clock is off by %v, %v", off, err)
	}
	c.grants(t)
	heal(t, h)
	back := inject(t, clockStep{host: followers[0], by: -30 * time.Minute, ensemble: c.ensemble})
	c.grants(t)
	heal(t, back)
	if now := sessions(); now != was {
		t.Errorf("%d connections or sessions were lost", now-was)
	}
}
