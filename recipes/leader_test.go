package recipes

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"locklab/recipes/observe"
	"locklab/recipes/zksession"
)

// newLeaderOf makes a candidate.
func newLeaderOf(t *testing.T, cfg LeaderConfig) *Leader {
	t.Helper()
	if cfg.Path == "" {
		cfg.Path = "/election"
	}
	l, err := NewLeader(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// leads waits until the candidate leads.
func leads(t *testing.T, l *Leader) *Hold {
	t.Helper()
	term, err := l.Campaign(within(t))
	if err != nil {
		t.Fatal(err)
	}
	return term
}

// told waits for the next leader on a channel, and compares.
func told(t *testing.T, from <-chan LeaderInfo, id string, token int64) {
	t.Helper()
	select {
	case info, ok := <-from:
		if !ok || info.ID != id || info.Token != token || info.Err != nil {
			t.Fatalf("told of %+v, %t; want %q with token %d", info, ok, id, token)
		}
	case <-within(t).Done():
		t.Fatalf("not told of %q", id)
	}
}

// One candidate leads at a time, in the order in which they came, with rising tokens. Whoever resigns hands over, and
// observers are told of each of them, and of none between.
func TestLeaderHandsOver(t *testing.T) {
	for _, latch := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			svc := newFakeService()
			s1, _ := svc.session(t, nil)
			s2, _ := svc.session(t, nil)
			watching, _ := svc.session(t, nil)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			seen := newLeaderOf(t, LeaderConfig{Session: watching, Latch: latch}).Observe(ctx)
			told(t, seen, "", 0)

			queued := make(chan int, 1)
			a := newLeaderOf(t, LeaderConfig{Session: s1, ID: "a", Latch: latch})
			b := newLeaderOf(t, LeaderConfig{Session: s2, ID: "b", Latch: latch, OnQueued: func(n int) { queued <- n }})
			if err := a.Resign(t.Context()); err != nil {
				t.Errorf("resigned without leading: %v", err)
			}
			first := leads(t, a)
			told(t, seen, "a", first.Token())
			next := make(chan *Hold)
			go func() { next <- leads(t, b) }()
			if ahead := <-queued; ahead != 1 {
				t.Errorf("%d ahead", ahead)
			}
			if _, err := b.TryAcquire(t.Context()); !errors.Is(err, ErrNotAcquired) {
				t.Errorf("tried beside a leader: %v", err)
			}
			<-queued
			now, err := b.Current(t.Context())
			if err != nil || now != (LeaderInfo{ID: "a", Token: first.Token(), Session: 1, Path: first.Path()}) {
				t.Errorf("the present leader: %+v, %v", now, err)
			}
			all, err := a.Participants(t.Context())
			if err != nil || len(all) != 2 || string(all[0].Data) != "a" || string(all[1].Data) != "b" {
				t.Errorf("participants: %+v, %v", all, err)
			}
			if err := s2.Revoke(t.Context(), first.Path()); err != nil {
				t.Fatal(err)
			}
			<-first.Revoked() // observers still know who it is
			if err := a.Resign(t.Context()); err != nil {
				t.Fatal(err)
			}
			second := <-next
			if context.Cause(first.Context()) != ErrReleased || second.Token() <= first.Token() {
				t.Errorf("the first ended with %v; tokens %d, %d", context.Cause(first.Context()), first.Token(), second.Token())
			}
			told(t, seen, "b", second.Token())
			released(t, second)
			told(t, seen, "", 0)
			if now, err := a.Current(t.Context()); err != nil || now != (LeaderInfo{}) {
				t.Errorf("the present leader: %+v, %v", now, err)
			}
			third := leads(t, a)
			told(t, seen, "a", third.Token())
			cancel()
			if info, ok := <-seen; ok {
				t.Errorf("told of %+v after the end", info)
			}
		})
	}
}

// A receiver that does not receive is told of the newest leader, once it does.
func TestObserverIsToldOfTheNewest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := newFakeService()
		s, z := svc.session(t, nil)
		l := newLeaderOf(t, LeaderConfig{Session: s, ID: "a"})
		seen := l.Observe(t.Context())
		var last *Hold
		for range 3 {
			if last != nil {
				released(t, last)
			}
			last = leads(t, l)
			synctest.Wait()
		}
		told(t, seen, "a", last.Token())
		if n := z.count("sync"); n != 1 { // a session may begin with a server that lags behind
			t.Errorf("%d syncs", n)
		}
		z.end(zksession.ErrSessionExpired)
		if info := <-seen; !errors.Is(info.Err, zksession.ErrSessionExpired) || info.ID != "" {
			t.Errorf("after the session's end: %+v", info)
		}
		if info, ok := <-seen; ok {
			t.Errorf("told of %+v after the end", info)
		}
		if info := <-l.Observe(t.Context()); !errors.Is(info.Err, zksession.ErrSessionExpired) {
			t.Errorf("observed in a session that is over: %+v", info)
		}
	})
}

// tooLarge is a session with a service whose lists do not fit into an answer.
type tooLarge struct{ *fakeSession }

func (tooLarge) Children(context.Context, string) ([]string, error) {
	return nil, zksession.ErrTooLarge
}

// A request that the service refuses ends observers, who are told why.
func TestObserverIsToldOfRefusal(t *testing.T) {
	_, z := newFakeService().session(t, nil)
	l := newLeaderOf(t, LeaderConfig{Session: NewSession(tooLarge{z}, nil)})
	seen := l.Observe(t.Context())
	if info := <-seen; !errors.Is(info.Err, zksession.ErrTooLarge) {
		t.Errorf("%+v", info)
	}
	if info, ok := <-seen; ok {
		t.Errorf("told of %+v after the end", info)
	}
	if info, err := l.Current(t.Context()); !errors.Is(err, zksession.ErrTooLarge) || info != (LeaderInfo{}) {
		t.Errorf("%+v, %v", info, err)
	}
}

// Run leads again and again: after its session has expired, in the next one; after it has resigned, behind the others.
// It ends when the work ends by itself.
func TestRunLeadsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := newFakeService()
		r, z := renewerOf(t, svc, nil)
		l := newLeaderOf(t, LeaderConfig{Renewer: r, ID: "a"})
		seen := l.Observe(t.Context())
		told(t, seen, "", 0)
		errWork := errors.New("the work failed")
		var sessions []int64
		var last int64
		err := l.Run(t.Context(), func(ctx context.Context, term *Hold) error {
			told(t, seen, "a", term.Token())
			sessions = append(sessions, term.Session())
			if term.Token() <= last {
				t.Errorf("token %d after %d", term.Token(), last)
			}
			last = term.Token()
			switch len(sessions) {
			case 1:
				z(1).end(zksession.ErrSessionExpired)
				<-ctx.Done()
				if !errors.Is(context.Cause(ctx), ErrLockLost) {
					t.Errorf("the first term ended with %v", context.Cause(ctx))
				}
				told(t, seen, "", 0)
				return errors.New("of no consequence")
			case 2:
				if err := l.Resign(t.Context()); err != nil {
					t.Error(err)
				}
				<-ctx.Done()
				told(t, seen, "", 0)
				return nil
			default:
				return errWork
			}
		})
		if !errors.Is(err, errWork) || len(sessions) != 3 || sessions[0] != 1 || sessions[1] != 2 || sessions[2] != 2 {
			t.Errorf("%v, terms in sessions %v", err, sessions)
		}
		told(t, seen, "", 0)
		if left := svc.ephemerals(); len(left) != 0 {
			t.Errorf("left behind: %v", left)
		}
	})
}

// Run ends with its context, and with a session that is not renewed. It waits for the work and frees the lock.
func TestRunEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := newFakeService()
		s, z := svc.session(t, nil)
		l := newLeaderOf(t, LeaderConfig{Session: s})
		ctx, cancel := context.WithCancel(t.Context())
		returned := false
		err := l.Run(ctx, func(ctx context.Context, _ *Hold) error {
			cancel()
			<-ctx.Done()
			time.Sleep(time.Minute)
			returned = true
			return nil
		})
		if !errors.Is(err, context.Canceled) || !returned || len(svc.ephemerals()) != 0 {
			t.Errorf("%v; the work is over: %t; left behind: %v", err, returned, svc.ephemerals())
		}
		terms := 0
		err = l.Run(t.Context(), func(ctx context.Context, _ *Hold) error {
			terms++
			z.end(zksession.ErrSessionExpired)
			<-ctx.Done()
			return nil
		})
		if !errors.Is(err, zksession.ErrSessionExpired) || terms != 1 {
			t.Errorf("%v after %d terms", err, terms)
		}
	})
}

// An observer hears of a term as of any hold, by the name of the recipe.
func TestLeaderIsObserved(t *testing.T) {
	svc := newFakeService()
	s, _ := svc.session(t, nil)
	var heard []string
	s.observe = func(e observe.Event) {
		if e.Recipe != "leader" || e.Lock != "/election" || e.Session != s.ID() {
			t.Errorf("heard of %+v", e)
		}
		heard = append(heard, e.Kind.String())
	}
	released(t, leads(t, newLeaderOf(t, LeaderConfig{Session: s, ID: "a"})))
	if got := strings.Join(heard, " "); got != "queued granted released" {
		t.Errorf("heard %s", got)
	}
}

// An unusable configuration is refused.
func TestLeaderConfig(t *testing.T) {
	svc := newFakeService()
	s, _ := svc.session(t, nil)
	r, _ := renewerOf(t, svc, nil)
	for name, cfg := range map[string]LeaderConfig{
		"no session":      {Path: "/election"},
		"two sessions":    {Path: "/election", Session: s, Renewer: r},
		"no path":         {Session: s},
		"reserved id":     {Path: "/election", Session: s, ID: revokeData},
		"a path's ending": {Path: "/election/", Session: s},
	} {
		if l, err := NewLeader(cfg); err == nil {
			t.Errorf("%s: got %+v", name, l)
		}
	}
}
