package recipes

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/recipes/internal/tasks"
	"locklab/recipes/zksession"
)

// A scripted lock does what the test tells it to, and records its calls in a diary.
type scripted struct {
	name    string
	diary   *[]string
	err     error         // what Acquire returns
	after   time.Duration // how long Acquire takes
	before  func()        // happens before Acquire waits
	during  func()        // happens while Acquire waits
	release error
	held    *Hold
}

func (s *scripted) Acquire(ctx context.Context) (*Hold, error) {
	if s.before != nil {
		s.before()
	}
	select {
	case <-time.After(s.after):
	case <-ctx.Done():
		*s.diary = append(*s.diary, s.name+" gave up")
		return nil, tasks.Ended(ctx)
	}
	if s.during != nil {
		s.during()
	}
	if s.err != nil {
		*s.diary = append(*s.diary, s.name+" failed")
		return nil, s.err
	}
	*s.diary = append(*s.diary, s.name+" acquired")
	s.held = newHold(context.WithoutCancel(ctx), 1, 7, func(context.Context) error {
		*s.diary = append(*s.diary, s.name+" released")
		return s.release
	})
	return s.held, nil
}

func multiOf(t *testing.T, canonical bool, locks ...*scripted) (*Multi, *[]string) {
	t.Helper()
	diary := &[]string{}
	var members []Member
	for _, l := range locks {
		l.diary = diary
		members = append(members, Member{l.name, l})
	}
	m, err := NewMulti(MultiConfig{Members: members, Canonical: canonical})
	if err != nil {
		t.Fatal(err)
	}
	return m, diary
}

func expectDiary(t *testing.T, diary *[]string, want ...string) {
	t.Helper()
	if !slices.Equal(*diary, want) {
		t.Errorf("got  %s\nwant %s", strings.Join(*diary, ", "), strings.Join(want, ", "))
	}
}

func TestMultiAcquiresInOrderAndReleasesInReverse(t *testing.T) {
	m, diary := multiOf(t, false, &scripted{name: "b"}, &scripted{name: "a"})
	h, err := m.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := h.Holds(); len(got) != 2 || got[0].Key != "b" || got[1].Key != "a" || got[0].Token() != 7 {
		t.Errorf("holds are %v", got)
	}
	if err := h.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(context.Cause(h.Context()), ErrReleased) {
		t.Errorf("cause is %v", context.Cause(h.Context()))
	}
	expectDiary(t, diary, "b acquired", "a acquired", "a released", "b released")
}

func TestMultiCanonicalOrderIsThatOfTheKeys(t *testing.T) {
	m, diary := multiOf(t, true, &scripted{name: "b"}, &scripted{name: "c"}, &scripted{name: "a"})
	if _, err := m.Acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	expectDiary(t, diary, "a acquired", "b acquired", "c acquired")
}

// Curator's multi-lock goes on to the next lock after a failure; ours stops.
func TestMultiStopsAtTheFirstFailure(t *testing.T) {
	broken := errors.New("broken")
	m, diary := multiOf(t, false, &scripted{name: "a"}, &scripted{name: "b", err: broken}, &scripted{name: "c"})
	if _, err := m.Acquire(t.Context()); !errors.Is(err, broken) || !strings.Contains(err.Error(), "acquire b") {
		t.Errorf("error is %v", err)
	}
	expectDiary(t, diary, "a acquired", "b failed", "a released")
}

// Curator's multi-lock gives each lock the full time; ours has one deadline for all.
func TestMultiHasOneDeadlineForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, diary := multiOf(
			t,
			false,
			&scripted{name: "a", after: 1500 * time.Millisecond},
			&scripted{name: "b", after: time.Hour},
		)
		begun := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		if _, err := m.Acquire(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error is %v", err)
		}
		if took := time.Since(begun); took != 2*time.Second {
			t.Errorf("took %v", took)
		}
		expectDiary(t, diary, "a acquired", "b gave up", "a released")
	})
}

// A member may be lost while the client waits for the next.
func TestMultiGrantsOnlyWhatIsStillHeld(t *testing.T) {
	a := &scripted{name: "a"}
	m, diary := multiOf(t, false, a, &scripted{name: "b", during: func() { a.held.lose(zksession.ErrSessionExpired) }})
	if _, err := m.Acquire(t.Context()); !errors.Is(err, ErrLockLost) || !errors.Is(err, zksession.ErrSessionExpired) {
		t.Errorf("error is %v", err)
	}
	expectDiary(t, diary, "a acquired", "b acquired", "b released")
}

// A member that is lost keeps others waiting until it is released, so the client does not go on waiting for the next.
func TestMultiGivesUpWhenItLosesAMember(t *testing.T) {
	a := &scripted{name: "a"}
	b := &scripted{name: "b", before: func() { a.held.lose(errNodeGone) }, after: time.Hour}
	m, diary := multiOf(t, false, a, b)
	if _, err := m.Acquire(within(t)); !errors.Is(err, ErrLockLost) || !strings.Contains(err.Error(), "member a") {
		t.Errorf("error is %v", err)
	}
	expectDiary(t, diary, "a acquired", "b gave up")
}

func TestMultiIsLostWithItsFirstMember(t *testing.T) {
	a, b := &scripted{name: "a"}, &scripted{name: "b"}
	m, _ := multiOf(t, false, a, b)
	h, err := m.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !h.Valid() {
		t.Error("not valid, although all members are held")
	}
	b.held.lose(errNodeGone)
	if h.Valid() {
		t.Error("valid, although a member is lost")
	}
	<-h.Context().Done()
	if cause := context.Cause(h.Context()); !errors.Is(cause, ErrLockLost) ||
		!strings.Contains(cause.Error(), "member b") {
		t.Errorf("cause is %v", cause)
	}
	if err := a.held.Context().Err(); err != nil {
		t.Errorf("the other member ended before the work had stopped: %v", err)
	}
	if err := h.Release(t.Context()); !errors.Is(err, ErrLockLost) {
		t.Errorf("release: %v", err)
	}
	if cause := context.Cause(a.held.Context()); cause != ErrReleased {
		t.Errorf("after the release the other member's cause is %v", cause)
	}
}

func TestMultiReleasesAllAndJoinsTheErrors(t *testing.T) {
	one, two := errors.New("one"), errors.New("two")
	m, diary := multiOf(
		t,
		false,
		&scripted{name: "a", release: one},
		&scripted{name: "b"},
		&scripted{name: "c", release: two},
	)
	h, err := m.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Release(t.Context()); !errors.Is(err, one) || !errors.Is(err, two) {
		t.Errorf("error is %v", err)
	}
	expectDiary(t, diary, "a acquired", "b acquired", "c acquired", "c released", "b released", "a released")
}

func TestMultiRefusesBadMembers(t *testing.T) {
	l := &scripted{name: "a"}
	for name, members := range map[string][]Member{
		"no members": nil, "no lock": {{Key: "a"}}, "twice": {{"a", l}, {"b", l}, {"a", l}},
	} {
		if _, err := NewMulti(MultiConfig{Members: members}); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// Two members at one path would wait for each other, whatever their keys.
func TestMultiRefusesOnePathTwice(t *testing.T) {
	svc := newFakeService()
	s, _ := svc.session(t, nil)
	other, _ := svc.session(t, nil)
	sem := newSemaphore(t, SemaphoreConfig{Session: s, Path: "/a", Max: 2})
	rw := newRW(t, "rw", s, nil) // at /locks/a
	for name, locks := range map[string][2]Lock{
		"mutex":          {newMutex(MutexConfig{Session: s, Path: "/a"}), newMutex(MutexConfig{Session: other, Path: "/a"})},
		"read and write": {rw.Read(), rw.Write()},
		"permits":        {sem.Of(1), sem.Of(2)},
		"naive":          {newLock(t, "naive", s, nil), newLock(t, "naive", other, nil)},
		"leader": {
			newLeaderOf(t, LeaderConfig{Session: s, Path: "/a"}), newMutex(MutexConfig{Session: s, Path: "/a"}),
		},
		"one permit": {newLock(t, "semaphore-mutex", s, nil), newLock(t, "mutex", s, nil)},
	} {
		if _, err := NewMulti(MultiConfig{Members: []Member{{"x", locks[0]}, {"y", locks[1]}}}); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	a, b := newMutex(MutexConfig{Session: s, Path: "/a"}), newMutex(MutexConfig{Session: s, Path: "/b"})
	if _, err := NewMulti(MultiConfig{Members: []Member{{"x", a}, {"y", b}}}); err != nil {
		t.Error(err)
	}
}

// Equal paths are two locks if they are in two ensembles or below two chroots, and different paths may be one lock.
func TestMultiComparesPathsAtTheService(t *testing.T) {
	svc := newFakeService()
	member := func(key, path, chroot string, servers ...string) Member {
		s, _ := svc.session(t, nil)
		s.servers, s.chroot = zk.FormatServers(servers), chroot
		return Member{key, newMutex(MutexConfig{Session: s, Path: path})}
	}
	a := member("a", "/l", "", "zk1", "zk2")
	for name, c := range map[string]struct {
		b       Member
		refused bool
	}{
		"the same servers in another order": {member("b", "/l", "", "zk2:2181", "zk1:2181"), true},
		"some of the servers":               {member("b", "/l", "", "zk2"), true},
		"unknown servers":                   {member("b", "/l", ""), true},
		"other servers":                     {member("b", "/l", "", "zk3", "zk4"), false},
		"another port":                      {member("b", "/l", "", "zk1:2182"), false},
		"a chroot":                          {member("b", "/l", "/app", "zk1"), false},
		"the path's end below a chroot":     {member("b", "/c", "/l", "zk1"), false},
	} {
		if _, err := NewMulti(MultiConfig{Members: []Member{a, c.b}}); (err != nil) != c.refused {
			t.Errorf("%s: %v", name, err)
		}
	}
	below := member("b", "/l", "/app", "zk1")
	if _, err := NewMulti(MultiConfig{Members: []Member{member("a", "/app/l", "", "zk1"), below}}); err == nil {
		t.Error("one path, of which one session has a part as its chroot: accepted")
	}
}
