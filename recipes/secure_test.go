package recipes

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/google/uuid"

	"locklab/recipes/internal/tasks"
	"locklab/recipes/internal/wire"
	"locklab/recipes/zksession"
	"locklab/recipes/zktest"
)

// alice is the credential of the clients that may use what [secured] creates.
var alice = zksession.Digest("alice", "in wonderland")

// onBoth runs a test on a service in memory and on the real ensemble.
func onBoth(t *testing.T, test func(t *testing.T, servers []string)) {
	t.Run("in memory", func(t *testing.T) { test(t, zktest.Start(t).Addrs()) })
	t.Run("real", func(t *testing.T) {
		onRealServers(t)
		test(t, servers(t))
	})
}

// secured returns a configuration by which only clients with alice's credential may use what is created.
func secured(servers []string) zksession.Config {
	return zksession.Config{Servers: servers, Credentials: []zksession.Credential{alice}, ACL: zksession.CreatorAll}
}

// securedPath returns the path of a lock of which nothing exists but the root, so that a secured session creates
// everything above it, too.
func securedPath() string { return "/secured-" + uuid.NewString() + "/lock" }

// opAuth is the code of the request that adds a credential.
const opAuth int32 = 100

// administrator returns a connection with alice's credential that makes requests of any kind.
func administrator(t *testing.T, servers []string) *zk.Conn {
	t.Helper()
	conn, _, err := zk.Connect(servers, 10*time.Second, zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	if err := conn.AddAuth("digest", []byte("alice:in wonderland")); err != nil {
		t.Fatal(err)
	}
	return conn
}

// refusedWith checks that an error is a refusal by an ACL that names a path.
func refusedWith(t *testing.T, what string, err error, node string) {
	t.Helper()
	if !errors.Is(err, zksession.ErrNoAuth) || !strings.Contains(err.Error(), node) {
		t.Errorf("%s: got %v, want ErrNoAuth with %s", what, err, node)
	}
}

// A session without the credential, or with a wrong password, can neither take nor break a secured lock. The attempt
// fails at once, with one error that names the znode. A session with the credential takes its turn as ever.
func TestSecuredLock(t *testing.T) { onBoth(t, testSecuredLock) }

func testSecuredLock(t *testing.T, servers []string) {
	for _, recipe := range recipeNames {
		t.Run(recipe, func(t *testing.T) {
			lock := securedPath()
			owner := connected(t, SessionConfig{Config: secured(servers)})
			h := acquired(t, realLock(t, recipe, owner, lock, nil))
			node := h.Path()
			dir := path.Dir(node)
			for name, credentials := range map[string][]zksession.Credential{
				"no credential":  nil,
				"wrong password": {zksession.Digest("alice", "in the underground")},
			} {
				w := wire.New()
				s := connected(t, SessionConfig{
					Config: zksession.Config{Servers: servers, Credentials: credentials, Dial: w.Dial}})
				before, _ := w.Requests()
				if _, err := realLock(t, recipe, s, lock, nil).Acquire(within(t)); true {
					refusedWith(t, name+": acquire", err, path.Dir(lock))
				}
				after, by := w.Requests()
				if n := by[wire.OpCreate] + by[wire.OpCreate2]; n != 1 || after-before-by[wire.OpChildren] != 1 {
					t.Errorf("%s: a refused attempt made %d requests, want one create: %v", name, after-before, by)
				}
				if by[wire.OpChildren] > 1 { // the one that goes out with the create
					t.Errorf("%s: a refused attempt made %d lists", name, by[wire.OpChildren])
				}
				refusedWith(t, name+": delete", s.zk.Delete(within(t), node), dir)
				_, err := s.zk.Multi(within(t), zksession.Op{Kind: zksession.OpSet, Path: node, Version: zksession.AnyVersion})
				refusedWith(t, name+": set", err, node)
				_, err = s.zk.Multi(within(t), zksession.Op{Kind: zksession.OpSet, Path: dir, Version: zksession.AnyVersion})
				refusedWith(t, name+": set the directory", err, dir)
				_, err = s.zk.Children(within(t), dir)
				refusedWith(t, name+": list", err, dir)
				_, _, err = s.zk.Get(within(t), node)
				refusedWith(t, name+": get", err, node)
				_, err = s.zk.Create(within(t), dir+"/intruder-lock-0000000000", nil, zksession.Persistent)
				refusedWith(t, name+": create", err, dir)
				_, err = s.zk.Multi(
					within(t),
					zksession.Op{Kind: zksession.OpCheck, Path: node, Version: zksession.AnyVersion},
				)
				refusedWith(t, name+": check", err, node)
				if slices.Contains(recipeNames[:1], recipe) {
					refusedWith(t, name+": revoke", s.Revoke(within(t), node), node)
					_, err = s.Evict(within(t), node, time.Millisecond)
					refusedWith(t, name+": evict", err, node)
				}
			}
			if err := h.Context().Err(); err != nil || tasks.Closed(h.Revoked()) {
				t.Errorf("the hold ended or was revoked: %v", err)
			}
			queued := make(chan int, 8)
			peer := connected(t, SessionConfig{Config: secured(servers)})
			l := realLock(t, recipe, peer, lock, func(ahead int) { queued <- ahead })
			turn := make(chan *Hold, 1)
			go func() { turn <- acquired(t, l) }()
			if ahead := <-queued; ahead == 0 {
				t.Error("the peer did not have to wait")
			}
			released(t, h)
			released(t, <-turn)
		})
	}
}

// Everything that a secured session creates is the credential's alone: contenders, leases, counts, heartbeats,
// directories, the znodes of a chroot, and a reader in a writer's place.
func TestSecuredCreates(t *testing.T) { onBoth(t, testSecuredCreates) }

func testSecuredCreates(t *testing.T, servers []string) {
	root := "/secured-" + uuid.NewString()
	cfg := secured(servers)
	cfg.Chroot = root + "/app"
	s := connected(t, SessionConfig{Config: cfg, LeaseClock: &LeaseClockConfig{Tick: 500 * time.Millisecond}})
	for _, recipe := range recipeNames {
		acquired(t, realLock(t, recipe, s, "/locks/"+recipe, nil))
	}
	rw, err := NewRW(RWConfig{Session: s, Path: "/locks/downgraded"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rw.Downgrade(within(t), acquired(t, rw.Write())); err != nil {
		t.Fatal(err)
	}
	guard := acquired(t, realLock(t, "mutex", s, "/locks/guard", nil))
	written := zksession.Op{Kind: zksession.OpCreate, Path: "/data", Mode: zksession.Persistent}
	if _, err := guard.Multi(within(t), written); err != nil {
		t.Fatal(err)
	}
	admin := administrator(t, servers)
	found, ephemeral := 0, 0
	var walk func(node string)
	walk = func(node string) {
		acl, stat, err := admin.GetACL(node)
		if err != nil {
			t.Fatal(err)
		}
		if want := zk.DigestACL(zk.PermAll, "alice", "in wonderland"); !slices.Equal(acl, want) {
			t.Errorf("%s has the ACL %v, want %v", node, acl, want)
		}
		found++
		if stat.EphemeralOwner != 0 && stat.EphemeralOwner != containerOwner {
			ephemeral++
			return
		}
		names, _, err := admin.Children(node)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			walk(path.Join(node, name))
		}
	}
	if _, err := admin.Sync(root); err != nil {
		t.Fatal(err)
	}
	walk(root)
	// One for each recipe, and one more for the permits of each of two semaphores: 2 of 3, and 3; the reader; the guard;
	// the heartbeats.
	if want := len(recipeNames) + 1 + 2 + 3; ephemeral != want {
		t.Errorf("%d ephemeral znodes among %d, want %d", ephemeral, found, want)
	}
}

// After a reconnect the credential still holds: a hold and a waiter of sessions that have reconnected go on, and can
// be released and granted.
func TestSecuredReconnect(t *testing.T) { onBoth(t, testSecuredReconnect) }

func testSecuredReconnect(t *testing.T, servers []string) {
	skipUnderRace(t)
	lock := securedPath()
	var sessions []*Session
	var wires []*wire.Wire
	for range 2 {
		w, cfg := wire.New(), secured(servers)
		cfg.Dial = w.Dial
		sessions, wires = append(sessions, connected(t, SessionConfig{Config: cfg})), append(wires, w)
	}
	h := acquired(t, realLock(t, "mutex", sessions[0], lock, nil))
	queued := make(chan int, 1)
	turn := make(chan *Hold, 1)
	go func() {
		turn <- acquired(t, realLock(t, "mutex", sessions[1], lock, func(ahead int) { queued <- ahead }))
	}()
	<-queued
	for i, s := range sessions {
		again := s.zk.Reconnected()
		wires[i].Lose(wire.OpMulti, 1)
		if err := s.zk.Sync(within(t), "/"); !errors.Is(err, zksession.ErrConnectionLoss) {
			t.Fatalf("the request that broke the connection: %v", err)
		}
		<-again
		// This is answered after the credential, and needs it.
		if _, err := s.zk.Children(within(t), lock); err != nil {
			t.Fatal(err)
		}
		if _, by := wires[i].Requests(); by[opAuth] != wires[i].Dials() || by[opAuth] < 2 {
			t.Errorf("the credential was sent %d times on %d connections", by[opAuth], wires[i].Dials())
		}
	}
	released(t, h)
	released(t, <-turn)
}

// A release that an ACL refuses says so at once, and is not repeated: the znode goes with the session.
func TestReleaseRefused(t *testing.T) { onBoth(t, testReleaseRefused) }

func testReleaseRefused(t *testing.T, servers []string) {
	admin, w, lock := administrator(t, servers), wire.New(), securedPath()
	s := connected(t, SessionConfig{Config: zksession.Config{Servers: servers, Dial: w.Dial}})
	h := acquired(t, realLock(t, "mutex", s, lock, nil))
	all := int32(zk.PermRead | zk.PermCreate | zk.PermWrite | zk.PermAdmin)
	if _, err := admin.SetACL(lock, zk.WorldACL(all), -1); err != nil {
		t.Fatal(err)
	}
	refusedWith(t, "release", h.Release(within(t)), lock)
	if _, by := w.Requests(); by[wire.OpDelete] != 1 {
		t.Errorf("%d deletes, want one", by[wire.OpDelete])
	}
	if err := s.Close(within(t)); err != nil {
		t.Fatal(err)
	}
	empty(t, connected(t, SessionConfig{Config: zksession.Config{Servers: servers}}), lock)
}

// An unreadable session may not read any znode any more once it is told so. (With a real ACL that shows only after a
// reconnect: a server sends no event of a znode that the client may not read.)
type unreadable struct {
	zksession.ZooKeeper
	now atomic.Bool
}

func (u *unreadable) GetW(
	ctx context.Context,
	node string,
	fired func(zksession.Event),
) ([]byte, zksession.Stat, error) {
	if u.now.Load() {
		return nil, zksession.Stat{}, fmt.Errorf("get %s: %w", node, zksession.ErrNoAuth)
	}
	return u.ZooKeeper.GetW(ctx, node, fired)
}

// A hold whose znode the client may not read any more ends, and releases the lock, because the client would not hear of
// the znode's deletion.
func TestHoldUnreadable(t *testing.T) {
	lock, svc := lockPath(t), newFakeService()
	other, _ := svc.session(t, nil)
	u := &unreadable{ZooKeeper: svc.Session(zktest.SessionConfig{Timeout: time.Second})}
	s := NewSession(u, nil)
	defer s.Close(context.WithoutCancel(t.Context()))
	h := acquired(t, realLock(t, "mutex", s, lock, nil))
	u.now.Store(true)
	if err := other.Revoke(within(t), h.Path()); err != nil { // uses up the hold's watch
		t.Fatal(err)
	}
	select {
	case <-h.Context().Done():
	case <-within(t).Done():
		t.Fatal("the hold goes on")
	}
	cause := context.Cause(h.Context())
	if !errors.Is(cause, ErrLockLost) {
		t.Errorf("the hold ended with %v, want ErrLockLost", cause)
	}
	refusedWith(t, "the hold's end", cause, h.Path())
	releasedLost(t, h)
	empty(t, other, lock)
}

// A lease clock whose heartbeats an ACL refuses makes acquisitions fail with that, instead of waiting for ever.
func TestHeartbeatsRefused(t *testing.T) { onBoth(t, testHeartbeatsRefused) }

func testHeartbeatsRefused(t *testing.T, servers []string) {
	admin, dir := administrator(t, servers), "/secured-"+uuid.NewString()
	if _, err := admin.Create(dir, nil, 0, zk.AuthACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	s := connected(t, SessionConfig{Config: zksession.Config{Servers: servers},
		LeaseClock: &LeaseClockConfig{Tick: 500 * time.Millisecond, Path: dir}})
	_, err := realLock(t, "mutex", s, lockPath(t), nil).Acquire(within(t))
	refusedWith(t, "acquire", err, dir)
	// It recovers when the ACL is mended.
	if _, err := admin.SetACL(dir, zk.WorldACL(zk.PermAll), -1); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a hold", func() bool {
		h, err := realLock(t, "mutex", s, lockPath(t), nil).Acquire(within(t))
		if err == nil {
			released(t, h)
		}
		return err == nil
	})
}
