package txnlog_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/ensembles/labtest"
	"locklab/ensembles/txnlog"
	"locklab/ensembles/txnlog/nodes"
)

const syntheticLog = "/synthetic.log" // its path on the host

// Three real servers write logs over restarts and a change of leader. The reader agrees line by line with ZooKeeper's
// own tool, and with what the client saw.
func TestAgreesWithZooKeepersTool(t *testing.T) {
	if testing.Short() {
		t.Skip("starts containers")
	}
	// Some transactions cannot be caused by a client in a short time. They come from a synthetic log.
	synthetic := filepath.Join(t.TempDir(), "synthetic")
	if err := os.WriteFile(synthetic, append(file(everyKind()...), make([]byte, 4096)...), 0o644); err != nil {
		t.Fatal(err)
	}
	lab := labtest.Start(t,
		ensembles.HostSpec{Name: "zk1", Publish: true, Files: []ensembles.File{{Source: synthetic, Target: syntheticLog}}},
		ensembles.HostSpec{Name: "zk2", Publish: true}, ensembles.HostSpec{Name: "zk3", Publish: true, Disk: true})
	e := labtest.StartEnsemble(t, lab)
	saw := traffic(t, e, "before")
	// A follower is stopped for a while, then the leader. Both begin another log.
	leader, err := e.Leader(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	follower := e.Servers[0]
	if follower == leader {
		follower = e.Servers[1]
	}
	for i, h := range []*ensembles.Host{follower, leader} {
		if _, err := h.Agent.Kill(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := h.Agent.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := e.AwaitReady(t.Context()); err != nil {
			t.Fatal(err)
		}
		saw.add(traffic(t, e, fmt.Sprint("after", i)))
	}
	for _, h := range e.Servers {
		if _, err := h.Agent.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
	}

	f, err := os.Open(synthetic)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	compare(t, e.Servers[0], syntheticLog, f)
	dir := t.TempDir()
	var sources []txnlog.Source
	files := 0
	for _, h := range e.Servers {
		own := filepath.Join(dir, h.Name)
		if _, err := ensembles.FetchTxnLogs(t.Context(), h, 0, own, io.Discard); err != nil {
			t.Fatal(err)
		}
		names, err := txnlog.Files(os.DirFS(own))
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %q, %v", h.Name, names, err)
		}
		for _, name := range names {
			f, err := os.Open(filepath.Join(own, name))
			if err != nil {
				t.Fatal(err)
			}
			compare(t, h, agent.DataDir+"/"+ensembles.TxnLogDir+"/"+name, f)
			f.Close()
			files++
		}
		sources = append(sources, txnlog.Source{Server: h.Name, Dir: os.DirFS(own)})
	}
	if files < 5 {
		t.Errorf("%d logs only, although two servers were restarted", files)
	}
	var committed []txnlog.Txn
	all, err := txnlog.Merge(3, func(e *txnlog.Entry) {
		if e.Fate == txnlog.Committed {
			txn := e.Txn
			txn.Ops = slices.Clone(txn.Ops)
			committed = append(committed, txn)
		}
	}, sources...)
	if err != nil || len(all.Contradictions) > 0 || len(all.Gaps) > 0 || len(all.Torn) > 0 {
		t.Errorf("merge: %v, %v, %v, %v", err, all.Contradictions, all.Gaps, all.Torn)
	}
	saw.confirm(t, committed)
}

// compare runs ZooKeeper's tool on a log, as the process of a host whose server has stopped, and compares the output.
func compare(t *testing.T, h *ensembles.Host, path string, log io.Reader) {
	t.Helper()
	want, err := dump(log, path)
	if err != nil {
		t.Error(err)
		return
	}
	said := labtest.Output(t, h, time.Minute, agent.Spec{ZooKeeper: true, Dir: "toolkit-" + filepath.Base(path),
		Argv: []string{"java", "-Dfile.encoding=UTF-8", "-Dstdout.encoding=UTF-8", "-Duser.language=en",
			"-Duser.country=US", "-Duser.timezone=UTC", "-XX:TieredStopAtLevel=1",
			"org.apache.zookeeper.server.persistence.TxnLogToolkit", "-d", path},
		// The tool would mix its log with its output.
		Files: map[string]string{"log4j.properties": "log4j.rootLogger=OFF\n",
			"logback.xml": "<configuration/>\n"}})
	// Java 20 and later write a narrow space before AM and PM, and ZooKeeper 3.9 another name.
	got := strings.Split(strings.NewReplacer("\u202f", " ", "createTTL", "createTtl").Replace(said), "\n")
	for i, line := range strings.Split(want, "\n") {
		if i >= len(got) || got[i] != line {
			t.Errorf("%s of %s, line %d:\nours  %q\ntheirs %q", path, h.Name, i+1, line, got[min(i, len(got)-1):][0])
			return
		}
	}
	if n := strings.Count(want, "\n") + 1; len(got) != n {
		t.Errorf("%s of %s: the tool prints more: %q", path, h.Name, got[n:])
	}
	t.Logf("%s of %s: %d equal lines", path, h.Name, len(got)-1)
}

// A sight is what a client saw.
type sight struct {
	created map[int64]string // czxid to path
	owner   map[int64]int64
	expired []int64 // sessions
	closed  []int64 // sessions
}

func (s *sight) add(more sight) {
	maps.Copy(s.created, more.created)
	maps.Copy(s.owner, more.owner)
	s.expired = append(s.expired, more.expired...)
	s.closed = append(s.closed, more.closed...)
}

func (s *sight) confirm(t *testing.T, all []txnlog.Txn) {
	t.Helper()
	closed := map[int64]txnlog.Txn{}
	created := map[int64][]txnlog.Txn{}
	for _, txn := range all {
		if txn.Type == txnlog.CloseSession {
			closed[txn.Session] = txn
		}
		created[txn.Zxid] = append(created[txn.Zxid], txn)
	}
	for zxid, p := range s.created {
		if !slices.ContainsFunc(created[zxid], func(t txnlog.Txn) bool {
			return slices.ContainsFunc(t.Ops, func(o txnlog.Op) bool {
				return o.Type.Creates() && o.Path == p && o.Ephemeral == (s.owner[zxid] != 0) &&
					(!o.Ephemeral || t.Session == s.owner[zxid])
			})
		}) {
			t.Errorf("0x%x: the log does not create %s of 0x%x, but %v", zxid, p, s.owner[zxid], created[zxid])
		}
	}
	for _, id := range s.expired {
		if c, ok := closed[id]; !ok || len(c.Closes) != 1 {
			t.Errorf("session 0x%x expired with its znode: %v", id, c)
		}
	}
	h := nodes.Replay(slices.Values(all))
	if !h.Complete || len(h.Oddities) > 0 {
		t.Errorf("from 0x%x: %v", h.First, h.Oddities)
	}
	for _, id := range append(s.expired, s.closed...) {
		if was := h.Sessions[id]; was == nil || was.Expired != slices.Contains(s.expired, id) || was.Created == 0 ||
			was.Closed == 0 {
			t.Errorf("session 0x%x: %+v", id, was)
		}
	}
	// Each lock that was created was held by its session until it was deleted.
	locks := 0
	for zxid, p := range s.created {
		if !strings.Contains(p, "lock-") {
			continue
		}
		locks++
		lane := h.Lane(nodes.Children(path.Dir(p), "lock-"), nodes.First)
		answer, span := lane.Witness(nodes.Grant{Czxid: zxid, Session: s.owner[zxid], To: 1 << 62})
		if answer != nodes.Witnessed || span.Path != p || span.End == nil || span.To != span.End.Zxid ||
			span.End.By != s.owner[zxid] {
			t.Errorf("0x%x: %s: %v, %+v", zxid, p, answer, span)
		}
		if guid, _, _ := strings.Cut(strings.TrimPrefix(path.Base(p), "_c_"), "-"); len(h.ByGUID(guid)) != 1 {
			t.Errorf("%s: %v", p, h.ByGUID(guid))
		}
	}
	if len(s.created) < 10 || locks < 9 || len(s.closed) == 0 || len(s.expired) == 0 {
		t.Errorf("the test saw %d creates, %d locks, %d expiries and %d ends only", len(s.created), locks, len(s.expired),
			len(s.closed))
	}
}

// traffic uses znodes as locks do, below a znode with that name, and lets a session expire.
func traffic(t *testing.T, e *ensembles.Ensemble, name string) sight {
	t.Helper()
	s := sight{created: map[int64]string{}, owner: map[int64]int64{}}
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	c, _ := connect(t, e, 10*time.Second)
	see := func(path string) {
		t.Helper()
		_, stat, err := c.Get(path)
		ok(err)
		s.created[stat.Czxid], s.owner[stat.Czxid] = path, stat.EphemeralOwner
	}
	acl := zk.WorldACL(zk.PermAll)
	root := "/" + name
	for _, p := range []string{root, root + "/queue", root + "/multi"} {
		_, err := c.Create(p, []byte("two\nlines, größer, \xff\xc3("), 0, acl)
		ok(err)
		see(p)
	}
	_, err := c.CreateContainer(root+"/container", nil, zk.FlagContainer, acl)
	ok(err)
	see(root + "/container")
	for range 3 {
		p, err := c.CreateProtectedEphemeralSequential(root+"/container/lock-", []byte{}, acl)
		ok(err)
		see(p)
		_, err = c.Set(p, bytes.Repeat([]byte("x"), 3000), 0)
		ok(err)
		if _, err = c.Set(p, nil, 7); !errors.Is(err, zk.ErrBadVersion) {
			t.Fatal(err)
		}
		ok(c.Delete(p, 1))
	}
	_, err = c.SetACL(root+"/queue", append(zk.DigestACL(zk.PermRead, "a,b%", "}"), acl...), -1)
	ok(err)
	created, err := c.Multi(&zk.CheckVersionRequest{Path: root, Version: -1},
		&zk.CreateRequest{Path: root + "/multi/e-", Flags: zk.FlagEphemeral | zk.FlagSequence, Acl: acl},
		&zk.CreateRequest{Path: root + "/multi/p-", Data: []byte("data"), Flags: zk.FlagSequence, Acl: acl},
		&zk.SetDataRequest{Path: root, Data: []byte("new"), Version: -1})
	ok(err)
	for _, r := range created[1:3] {
		see(r.String)
	}
	if _, err := c.Multi(&zk.DeleteRequest{Path: created[2].String, Version: -1},
		&zk.CheckVersionRequest{Path: "/none", Version: -1}); err == nil {
		t.Fatal("a multi with a wrong check was accepted")
	}
	_, err = c.Multi(&zk.DeleteRequest{Path: created[2].String, Version: -1})
	ok(err)

	// This session expires: its client is cut off until its znode is gone.
	doomed, cut := connect(t, e, time.Second)
	held, err := doomed.Create(root+"/held", nil, zk.FlagEphemeral, acl)
	ok(err)
	_, err = c.Sync(held) // the two sessions may be with different servers
	ok(err)
	see(held)
	s.expired = append(s.expired, doomed.SessionID())
	there, _, gone, err := c.ExistsW(held)
	ok(err)
	cut()
	if there {
		select {
		case <-gone:
		case <-time.After(time.Minute):
			t.Fatal("the session did not expire")
		}
	}
	s.closed = append(s.closed, c.SessionID())
	c.Close()
	return s
}

// connect returns a client and a function that cuts it off for good without notice to the server.
func connect(t *testing.T, e *ensembles.Ensemble, timeout time.Duration) (*zk.Conn, func()) {
	t.Helper()
	var servers []string
	for _, h := range e.Servers {
		servers = append(servers, h.Published.String())
	}
	var off atomic.Bool
	var last atomic.Pointer[net.Conn]
	c, events, err := zk.Connect(servers, timeout, zk.WithLogInfo(false), zk.WithLogger(quiet{}),
		zk.WithDialer(func(network, address string, timeout time.Duration) (net.Conn, error) {
			if off.Load() {
				return nil, errors.New("cut off")
			}
			c, err := net.DialTimeout(network, address, timeout)
			if err == nil {
				last.Store(&c)
			}
			return c, err
		}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	for deadline := time.After(time.Minute); ; {
		select {
		case ev := <-events:
			if ev.State == zk.StateHasSession {
				return c, func() { off.Store(true); (*last.Load()).Close() }
			}
		case <-deadline:
			t.Fatal("no session")
		}
	}
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}
