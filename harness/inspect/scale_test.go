package inspect

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"locklab/ensembles/labtest"
	"locklab/ensembles/labtest/apart"
	"locklab/ensembles/labtest/suite"
	"locklab/ensembles/remote"
	"locklab/recipes/zksession"
	"locklab/recipes/zktest"
	"locklab/reports/words"
)

const (
	waitersEach = 5 // of each lock
	// perLock is how many requests a listing spends on a lock: its children, the first holder and the first waiter.
	perLock = 3
	// above is how many it spends on the root, once as a lock and once as a directory, and on the locks' directory.
	above = 3
	// mostMemory is how much memory a process may need that lists thousands of locks.
	mostMemory = 100 << 20
)

// A listing of many locks needs a few requests for each, however many clients wait for it.
func TestManyLocks(t *testing.T) {
	locks := 40
	full := suite.All() && !testing.Short()
	if full {
		locks = 2000 // the requests take six seconds, as no more are sent in a second
	}
	t.Run("in memory", func(t *testing.T) {
		svc := zktest.StartWith(t, zktest.Config{Servers: 3})
		s := &stage{t, svc.Addrs()}
		s.many(locks)
		var asked atomic.Int64
		svc.Intercept(func(r zktest.Request) zktest.Fault {
			switch r.Op {
			case zktest.OpGetData, zktest.OpGetChildren2:
				asked.Add(1)
			case zktest.OpCreate, zktest.OpCreate2, zktest.OpDelete, zktest.OpSetData:
				t.Errorf("%v of %q while locks are listed", r.Op, r.Paths)
			}
			return zktest.Fault{}
		})
		r := s.look(s.config("/"))
		if asked.Load() != r.Requests {
			t.Errorf("%d requests came, and the report has %d", asked.Load(), r.Requests)
		}
		wantMany(t, r, locks)
		if full {
			s.listByProcess(locks)
		}
	})
	t.Run("three servers", func(t *testing.T) {
		suite.Nightly(t, "a service in memory has fewer locks")
		lab := apart.Start(t, 0)
		s := &stage{t, lab.Servers}
		s.many(locks)
		s.listByProcess(locks)
		s.cutOff(lab)
	})
}

// many makes locks with a holder and waiters each, whose sessions all differ, as Curator's clients would.
func (s *stage) many(locks int) {
	s.t.Helper()
	const atOnce = 200 // znodes in one transaction
	transact := func(zk zksession.ZooKeeper, mode zksession.Mode, names []string) {
		s.t.Helper()
		for len(names) > 0 {
			n := min(len(names), atOnce)
			var ops []zksession.Op
			for _, name := range names[:n] {
				ops = append(ops, zksession.Op{Kind: zksession.OpCreate, Path: name, Data: []byte("by hand"), Mode: mode})
			}
			if _, err := zk.Multi(s.t.Context(), ops...); err != nil {
				s.t.Fatalf("%s and others: %v", names[0], err)
			}
			names = names[n:]
		}
	}
	dirs := []string{"/locks"}
	for i := range locks {
		dirs = append(dirs, fmt.Sprintf("/locks/resource-%04d", i))
	}
	admin := s.zk(zksession.Config{})
	transact(admin, zksession.Persistent, dirs)
	for place := range 1 + waitersEach {
		var names []string
		for i, dir := range dirs[1:] {
			names = append(names, fmt.Sprintf("%s/_c_%08x-0000-4000-8000-%012x-lock-%010d", dir, i, place, place))
		}
		transact(s.zk(zksession.Config{}), zksession.Ephemeral, names)
	}
	// The client's server may lag behind the others.
	if err := admin.Sync(s.t.Context(), "/locks"); err != nil {
		s.t.Fatal(err)
	}
}

// wantMany checks a listing of the locks that many makes.
func wantMany(t *testing.T, r *Report, locks int) {
	t.Helper()
	waiters := 0
	for _, l := range r.Locks {
		if len(l.Holders()) != 1 || l.Verdict != Busy {
			t.Fatalf("%s has %d holders and is %s: %s", l.Path, len(l.Holders()), l.Verdict, l.Because)
		}
		waiters += len(l.Waiters())
	}
	if len(r.Locks) != locks || waiters != locks*waitersEach || r.Incomplete != "" || len(r.Hidden) > 0 {
		t.Errorf("%d locks with %d waiters, want %d with %d each; incomplete %q, hidden %q", len(r.Locks), waiters, locks,
			waitersEach, r.Incomplete, r.Hidden)
	}
	if most := int64(above + perLock*locks); r.Requests > most {
		t.Errorf("%d requests for %d locks, want %d at most", r.Requests, locks, most)
	}
	if shown := text(t, r); !strings.Contains(shown, words.Count(r.Requests, "request")+", none of them a write.") {
		t.Errorf("%d requests are not said", r.Requests)
	}
	t.Logf("%d locks, %d waiters, %d requests", len(r.Locks), waiters, r.Requests)
}

// listByProcess lists the locks with a process of its own, whose memory is that of inspect alone.
func (s *stage) listByProcess(locks int) {
	s.t.Helper()
	cmd := exec.Command(labtest.Binary(s.t), "inspect", "--json", strings.Join(s.servers, ","))
	cmd.Stderr = s.t.Output()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	out := bufio.NewReader(stdout)
	// The process has encoded everything when its output begins, and cannot end before the output is read, because a
	// pipe holds less.
	_, began := out.Peek(1)
	memory := peakMemory(s.t, cmd.Process.Pid)
	var r Report
	err = errors.Join(began, json.NewDecoder(out).Decode(&r))
	_, read := io.Copy(io.Discard, out)
	if err := errors.Join(err, read, cmd.Wait()); err != nil { // a busy lock is no failure
		s.t.Fatal(err)
	}
	took := time.Since(begun)
	wantMany(s.t, &r, locks)
	s.t.Logf("the process took %v and %d MiB", took.Round(10*time.Millisecond), memory>>20)
	if memory > mostMemory {
		s.t.Errorf("it needed %d MiB, want %d at most", memory>>20, mostMemory>>20)
	}
}

// peakMemory returns the most memory that a process has had, in bytes. The usage that the kernel reports of a process
// that has ended is no measure: it counts the memory of the one that started it too (setmax_mm_hiwater_rss in exec).
func peakMemory(t *testing.T, pid int) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	var kib int64
	if _, err := fmt.Sscanf(after, "%d kB", &kib); err != nil {
		t.Fatalf("no peak of the memory: %v in\n%s", err, status)
	}
	return kib << 10
}

// cutOff cuts the followers off, one after the other. With one, the others still tell everything, and that it serves
// nobody. With both, nobody can serve, and a look says so within its time, whether its session was open before or not.
func (s *stage) cutOff(lab *apart.Lab) {
	const nobody, within = " serves nobody, because it has no leader", 20 * time.Second
	all := s.config("/locks/resource-0000")
	says := func(what, text string, servers ...string) {
		s.t.Helper()
		s.t.Logf("%s: %s", what, text)
		for _, server := range servers {
			if !strings.Contains(text, server+nobody) {
				s.t.Errorf("%s: it is not said that %s%s", what, server, nobody)
			}
		}
	}
	// timed calls do with the time that a look has, and checks that do needs less.
	timed := func(what string, do func(context.Context)) {
		s.t.Helper()
		ctx, cancel := context.WithTimeout(s.t.Context(), within)
		defer cancel()
		begun := time.Now()
		do(ctx)
		s.t.Logf("%s: it took %v of %v", what, time.Since(begun).Round(10*time.Millisecond), within)
		if ctx.Err() != nil {
			s.t.Errorf("%s: it took all the time: %v", what, context.Cause(ctx))
		}
	}
	lab.Cut(s.t, lab.Servers[1])
	s.untilCut(all.Access, lab.Servers[1])
	timed("one follower cut off", func(ctx context.Context) {
		i, err := Open(ctx, all)
		if err != nil {
			s.t.Fatal(err)
		}
		defer i.Close(context.WithoutCancel(ctx))
		r, err := i.Look(ctx)
		if err != nil {
			s.t.Fatal(err)
		}
		wantVerdict(s.t, r, Busy)
		says("one follower cut off", text(s.t, r), lab.Servers[1])
	})
	before, err := Open(s.t.Context(), all)
	if err != nil {
		s.t.Fatal(err)
	}
	defer before.Close(context.WithoutCancel(s.t.Context()))
	look := func(what string, without ...string) {
		timed(what, func(ctx context.Context) {
			r, err := before.Look(ctx)
			switch {
			case err == nil:
				says(what, text(s.t, r), without...)
				if v := r.Verdict(); v != Unclear && len(without) > 0 {
					s.t.Errorf("%s: the verdict is %q without a leader", what, v)
				}
			case errors.Is(err, remote.ErrUnusable):
				says(what, err.Error(), without...)
			default:
				s.t.Errorf("%s: %v", what, err)
			}
		})
	}
	lab.Cut(s.t, lab.Servers[2])
	look("the servers do not know yet")
	s.untilCut(all.Access, lab.Servers...)
	look("a session that was open", lab.Servers...)
	timed("no leader", func(ctx context.Context) {
		i, err := Open(ctx, all)
		if err == nil {
			i.Close(context.WithoutCancel(ctx))
		}
		if !errors.Is(err, remote.ErrUnusable) {
			s.t.Errorf("%v, want an error that says that the servers are unusable", err)
		}
		says("no leader", fmt.Sprint(err), lab.Servers...)
	})
	for _, server := range lab.Servers[1:] {
		lab.Heal(s.t, server)
	}
}

// untilCut waits until servers know that they have no leader.
func (s *stage) untilCut(a *remote.Access, servers ...string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	for _, server := range servers {
		for {
			said, _ := askOne(ctx, a, server)
			if ctx.Err() != nil {
				s.t.Fatalf("%s was cut off and says %q", server, said.State)
			}
			if strings.Contains(said.State, "no leader") {
				break
			}
		}
	}
}
