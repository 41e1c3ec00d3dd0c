package inspect

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/ensembles/labtest/suite"
	"locklab/ensembles/reach"
	"locklab/ensembles/remote"
	"locklab/recipes"
	"locklab/recipes/zksession"
	"locklab/recipes/zktest"
)

// A stage is a service in memory, with clients that make locks.
type stage struct {
	t       *testing.T
	servers []string
}

func newStage(t *testing.T) *stage {
	return &stage{t, zktest.StartWith(t, zktest.Config{Servers: 3}).Addrs()}
}

// session returns a session of its own.
func (s *stage) session() *recipes.Session {
	s.t.Helper()
	session, err := recipes.Connect(s.t.Context(), recipes.SessionConfig{Config: zksession.Config{Servers: s.servers}})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { session.Close(context.Background()) })
	return session
}

// zk returns a client of its own.
func (s *stage) zk(cfg zksession.Config) zksession.ZooKeeper {
	s.t.Helper()
	cfg.Servers = s.servers
	zk, err := zksession.Connect(s.t.Context(), cfg)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { zk.Close(context.Background()) })
	return zk
}

// create makes znodes.
func create(t *testing.T, zk zksession.ZooKeeper, mode zksession.Mode, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := zk.Create(t.Context(), name, []byte("by hand"), mode); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
}

func (s *stage) config(path string) Config {
	return Config{Access: &remote.Access{Ensemble: reach.Ensemble{Servers: s.servers}}, Path: path,
		Between: 10 * time.Millisecond}
}

// look looks at a path.
func (s *stage) look(cfg Config) *Report {
	s.t.Helper()
	i, err := Open(s.t.Context(), cfg)
	if err != nil {
		s.t.Fatal(err)
	}
	defer i.Close(s.t.Context())
	r, err := i.Look(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

func text(t *testing.T, r *Report) string {
	t.Helper()
	var b strings.Builder
	if err := r.Write(&b, time.Now()); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func wantVerdict(t *testing.T, r *Report, want Verdict, parts ...string) {
	t.Helper()
	shown := text(t, r)
	if r.Verdict() != want {
		t.Errorf("verdict %q, want %q", r.Verdict(), want)
	}
	for _, p := range parts {
		if !strings.Contains(shown, p) {
			t.Errorf("%q is not said", p)
		}
	}
	if t.Failed() {
		t.Log("\n" + shown)
	}
}

// tree returns every znode below a path with its data and stat, and leaves out the sessions, which are no znodes.
func (s *stage) tree(zk zksession.ZooKeeper, path string) (all []string) {
	s.t.Helper()
	data, stat, err := zk.Get(s.t.Context(), path)
	if err != nil {
		s.t.Fatal(err)
	}
	all = append(all, fmt.Sprintf("%s %q %+v", path, data, stat))
	names, err := zk.Children(s.t.Context(), path)
	if err != nil {
		s.t.Fatal(err)
	}
	slices.Sort(names)
	for _, n := range names {
		all = append(all, s.tree(zk, strings.TrimSuffix(path, "/")+"/"+n)...)
	}
	return all
}

// mutex returns a lock of a session of its own.
func (s *stage) mutex(path, data string) *recipes.Mutex {
	s.t.Helper()
	m, err := recipes.NewMutex(recipes.MutexConfig{Session: s.session(), Path: path, Data: []byte(data)})
	if err != nil {
		s.t.Fatal(err)
	}
	return m
}

// waiting begins to acquire a lock and returns when the lock's directory has n children.
func (s *stage) waiting(l recipes.Lock, zk zksession.ZooKeeper, path string, n int) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if h, err := l.Acquire(ctx); err == nil {
			h.Release(context.Background())
		}
	}()
	s.t.Cleanup(func() { cancel(); <-done })
	for {
		names, err := zk.Children(s.t.Context(), path)
		if err != nil {
			s.t.Fatal(err)
		}
		if len(names) == n {
			return
		}
	}
}

// A look says who holds a mutex and who waits, and changes nothing.
func TestBusyMutex(t *testing.T) {
	s := newStage(t)
	admin := s.zk(zksession.Config{})
	h, err := s.mutex("/app/lock", "host-7\x1b[31m").Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.waiting(s.mutex("/app/lock", "host-8"), admin, "/app/lock", 2)
	before := s.tree(admin, "/")
	r := s.look(s.config("/app/lock"))
	if after := s.tree(admin, "/"); !slices.Equal(before, after) {
		t.Errorf("the tree was\n%q\nand is\n%q", before, after)
	}
	wantVerdict(t, r, Busy, "holds", "waits", "host-8", "No server lists its clients", "Curator")
	l := r.Lock
	if len(l.Contenders) != 2 || !l.Contenders[0].Holds || l.Contenders[1].Holds ||
		l.Contenders[1].WaitsFor != l.Contenders[0].Path || l.Contenders[0].Token != int64(h.Token()) {
		t.Errorf("%+v, %+v; the token is %d", l.Contenders[0], l.Contenders[1], h.Token())
	}
	if strings.Contains(text(t, r), "\x1b") {
		t.Error("a control character reaches the terminal")
	}
	if err := h.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// A lock that changes hands is moving.
func TestMovingMutex(t *testing.T) {
	s := newStage(t)
	admin := s.zk(zksession.Config{})
	h, err := s.mutex("/lock", "").Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	cfg := s.config("/lock")
	i, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer i.Close(t.Context())
	first, err := i.once(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	next, waiter := make(chan *recipes.Hold, 1), s.mutex("/lock", "")
	go func() {
		h, err := waiter.Acquire(t.Context())
		if err != nil {
			t.Error(err)
		}
		next <- h
	}()
	for {
		if names, err := admin.Children(t.Context(), "/lock"); err != nil || len(names) == 2 {
			break
		}
	}
	if err := h.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	h = <-next
	defer h.Release(context.Background())
	second, err := i.once(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	wantVerdict(t, second, Moving)
	if lines := second.Changes(first); len(lines) == 0 || !strings.Contains(strings.Join(lines, "\n"), "is gone") {
		t.Errorf("changes: %q", lines)
	}
}

// What can be read from a directory decides the verdict.
func TestVerdicts(t *testing.T) {
	const guid, other = "_c_0c0d1e2f-0000-0000-0000-000000000001-", "_c_0c0d1e2f-0000-0000-0000-000000000002-"
	for _, c := range []struct {
		name                     string
		persistent, mine, theirs []string
		want                     Verdict
		says                     string
	}{
		{"empty", nil, nil, nil, Unclear, ""},
		{"a persistent znode is first", []string{"lock-0000000001"}, []string{"lock-0000000002"}, nil, Blocked,
			"lock-0000000001 is persistent"},
		{"a persistent znode waits", []string{"lock-0000000003"}, []string{"lock-0000000002"}, nil, Blocked, "is persistent"},
		{"two znodes of one attempt", nil, []string{guid + "lock-0000000001", guid + "lock-0000000002"}, nil, Orphaned,
			"one attempt"},
		{"a writer that became a reader", nil, []string{guid + "__WRIT__0000000001", guid + "__READ__0000000002"}, nil, Busy,
			""},
		{"a session behind itself", nil, []string{guid + "lock-0000000001", other + "lock-0000000002"}, nil, Unclear,
			"forgotten"},
		{"two sessions", nil, []string{guid + "lock-0000000001"}, []string{other + "lock-0000000002"}, Busy, "held by"},
		{"readers of kazoo", nil, []string{"a__rlock__0000000001"}, []string{"b__rlock__0000000002"}, Busy, "2 hold it"},
		{"a reader of kazoo before a writer", nil, []string{"a__rlock__0000000001"}, []string{"b__lock__0000000002"}, Unclear,
			"issue 649"},
		{"kazoo", nil, []string{"a__lock__0000000001"}, []string{"b__lock__0000000002"}, Busy, "kazoo"},
		{"latch", nil, []string{"latch-0000000001"}, []string{"latch-0000000002"}, Busy, "leader latch"},
		{"used up numbers", nil, []string{"lock-2147483647"}, nil, Unclear, "used up"},
		{"kazoo's leases", nil, []string{strings.Repeat("0a", 16)}, []string{strings.Repeat("0b", 16)}, Busy,
			"kazoo semaphore"},
		{"a permit", nil, []string{"leases/lease-0000000001"}, []string{"locks/lock-0000000001"}, Busy, "queues"},
		{"permits in part", nil, []string{"leases/lease-0000000001", "locks/lock-0000000001"},
			[]string{"leases/lease-0000000002", "locks/lock-0000000002"}, Deadlocked, "each waits for the others"},
		{"another znode beside", []string{"config"}, []string{"lock-0000000001"}, nil, Busy, "take no part: config"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t)
			admin, other := s.zk(zksession.Config{}), s.zk(zksession.Config{})
			create(t, admin, zksession.Persistent, "/lock")
			if slices.ContainsFunc(c.mine, func(n string) bool { return strings.HasPrefix(n, "leases/") }) {
				create(t, admin, zksession.Persistent, "/lock/leases", "/lock/locks")
			}
			below := func(names []string) (all []string) {
				for _, n := range names {
					all = append(all, "/lock/"+n)
				}
				return all
			}
			create(t, admin, zksession.Persistent, below(c.persistent)...)
			create(t, admin, zksession.Ephemeral, below(c.mine)...)
			create(t, other, zksession.Ephemeral, below(c.theirs)...)
			r := s.look(s.config("/lock"))
			if c.name == "empty" {
				if r.Lock != nil || len(r.Locks) > 0 || r.Verdict() != Empty {
					t.Errorf("%+v", r)
				}
				return
			}
			wantVerdict(t, r, c.want, c.says)
			if bad := r.Lock.Advice != ""; bad != c.want.Bad() {
				t.Errorf("advice %q", r.Lock.Advice)
			}
		})
	}
}

// Without the path of a lock, all locks below are listed, but for what may not be read.
func TestListing(t *testing.T) {
	s := newStage(t)
	admin := s.zk(zksession.Config{})
	owner := s.zk(zksession.Config{Credentials: []zksession.Credential{zksession.Digest("owner", "secret")},
		ACL: zksession.CreatorAll})
	create(t, admin, zksession.Persistent, "/a", "/a/b", "/a/data", "/a/data/1", "/a/b/lock", "/a/stuck",
		"/a/stuck/lock-0000000000")
	create(t, owner, zksession.Persistent, "/a/secret")
	create(t, admin, zksession.Ephemeral, "/a/b/lock/x__lock__0000000000", "/a/b/lock/y__lock__0000000001")
	r := s.look(s.config("/"))
	wantVerdict(t, r, Blocked, "/a/b/lock", "/a/stuck", "kazoo lock", "/a/secret may not be read", "is persistent")
	if len(r.Locks) != 2 || len(r.Locks[0].Waiters()) != 1 {
		t.Errorf("%d locks", len(r.Locks))
	}
	cfg := s.config("/")
	cfg.MaxRequests = 3
	if r := s.look(cfg); r.Incomplete == "" || r.Requests != 3 || r.Verdict() == Empty {
		t.Errorf("%d requests, verdict %q, incomplete %q", r.Requests, r.Verdict(), r.Incomplete)
	}
	cfg = s.config("/")
	cfg.Depth = 1
	wantVerdict(t, s.look(cfg), Unclear, "Not everything was seen: 4 znodes were not looked at, more than one level "+
		"below / (--depth).")
	if r := s.look(s.config("/a/data")); r.Lock != nil || len(r.Locks) > 0 || r.Verdict() != Empty {
		t.Errorf("%+v", r)
	}
	if r := s.look(s.config("/a/secret")); r.Verdict() != Unclear || len(r.Hidden) != 1 {
		t.Errorf("%+v", r)
	}
}

// A long queue is read whole, no faster than the limit allows.
func TestLongQueue(t *testing.T) {
	s := newStage(t)
	admin := s.zk(zksession.Config{})
	create(t, admin, zksession.Persistent, "/lock")
	n := 500
	if suite.All() {
		n = 5000 // it takes ten seconds
	}
	for i := range n {
		create(t, admin, zksession.Ephemeral, fmt.Sprintf("/lock/%04d-lock-%010d", n-i, i))
	}
	cfg := s.config("/lock")
	cfg.Between = time.Millisecond
	r := s.look(cfg)
	if len(r.Lock.Contenders) != n || r.Requests != int64(2*(n+1)) {
		t.Fatalf("%d contenders, %d requests", len(r.Lock.Contenders), r.Requests)
	}
	for i, c := range r.Lock.Contenders {
		if !strings.HasSuffix(c.Path, fmt.Sprintf("%010d", i)) || c.Holds != (i == 0) {
			t.Fatalf("%d: %+v", i, c)
		}
	}
}

// What cannot be looked at is an error that says why.
func TestUnreachable(t *testing.T) {
	s := newStage(t)
	i, err := Open(t.Context(), s.config("/nowhere"))
	if err != nil {
		t.Fatal(err)
	}
	defer i.Close(t.Context())
	if _, err := i.Look(t.Context()); !errors.Is(err, ErrNoPath) {
		t.Errorf("no path: %v", err)
	}
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := closed.Addr().String()
	closed.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	cfg := s.config("/")
	cfg.Access.Servers = []string{address}
	if _, err := Open(ctx, cfg); !errors.Is(err, remote.ErrUnusable) || !strings.Contains(err.Error(), address) ||
		!strings.Contains(err.Error(), "refused") {
		t.Errorf("nobody there: %v", err)
	}
}

// A server's list of connections is read as it writes it.
func TestClients(t *testing.T) {
	const list = ` /127.0.0.1:40244[0](queued=0,recved=1,sent=0)
 /10.1.2.3:51234[1](queued=0,recved=34,sent=34,sid=0x100001ab2c30004,lop=PING,est=1764150000000,to=4000,lcxid=0x1c,` +
		`lzxid=0xffffffffffffffff,lresp=12345,llat=0,minlat=0,avglat=0,maxlat=9)
 /[0:0:0:0:0:0:0:1]:51236[1](queued=0,recved=4,sent=4,sid=0x9000000000000001,lop=GETD,est=1764150000001,to=30000,` +
		`lresp=15345)
`
	got := map[int64]*Client{}
	parseClients(list, "zk1", got)
	high := uint64(0x9000000000000001)
	a, b := got[0x100001ab2c30004], got[int64(high)]
	if len(got) != 2 || a == nil || b == nil {
		t.Fatalf("%v", got)
	}
	if a.Address != "10.1.2.3:51234" || a.Timeout != 4*time.Second || a.Server != "zk1" ||
		b.Address != "[0:0:0:0:0:0:0:1]:51236" || !b.connected.Equal(time.UnixMilli(1764150000001)) {
		t.Errorf("%+v, %+v", a, b)
	}
	if a.Silent != 3*time.Second || !a.mute() || b.Silent != 0 || b.mute() {
		t.Errorf("silent for %v and %v", a.Silent, b.Silent)
	}
	l := newLock("/l", kinds[0], []string{"x-lock-0000000000"})
	l.Contenders[0].take(nil, zksession.Stat{Owner: 0x100001ab2c30004})
	(&census{clients: got}).know(l.all())
	l.order()
	l.judge(nil, time.Now())
	if want := "its client 10.1.2.3:51234 has been silent for 3 s of its timeout of 4 s"; l.Verdict != Busy ||
		!strings.Contains(l.Because, want) {
		t.Errorf("%s: %s, want %q", l.Verdict, l.Because, want)
	}
}

// An outage ends no watch. It is told, and what is seen afterwards is compared with what was seen before.
func TestWatchThroughAnOutage(t *testing.T) {
	svc := zktest.StartWith(t, zktest.Config{})
	s := &stage{t, svc.Addrs()}
	admin := s.zk(zksession.Config{})
	create(t, admin, zksession.Persistent, "/lock")
	create(t, admin, zksession.Ephemeral, "/lock/x-lock-0000000000")
	i, err := Open(t.Context(), s.config("/lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer i.Close(t.Context())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var seen *Report
	var out bool
	err = i.Watch(ctx, time.Second, func(before, now *Report) error {
		switch {
		case seen == nil:
			seen = now
			svc.Stop(0)
		case now.Incomplete != "" && !out:
			if out = true; before != nil && before != seen || len(now.Changes(before)) > 0 {
				t.Errorf("during the outage: before %v, changes %q", before, now.Changes(before))
			}
			svc.Resume(0)
		case now.Incomplete == "" && out:
			if len(now.Changes(before)) > 0 || now.Verdict() != Busy {
				t.Errorf("after the outage it is %s: %q", now.Verdict(), now.Changes(before))
			}
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// The lock with which kazoo's semaphore takes leases is no lock of its own.
func TestInnerLockOfKazoo(t *testing.T) {
	s := newStage(t)
	admin := s.zk(zksession.Config{})
	create(t, admin, zksession.Persistent, "/slots", "/slots-__lock__")
	create(t, admin, zksession.Ephemeral, "/slots/0123456789abcdef0123456789abcdef",
		"/slots-__lock__/0123456789abcdef0123456789abcdee__lock__0000000000")
	wantVerdict(t, s.look(s.config("/")), Empty, "kazoo semaphore's queue")
	wantVerdict(t, s.look(s.config("/slots-__lock__")), Busy,
		"the first client of this queue waits for a permit of /slots")
}
