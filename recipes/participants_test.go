package recipes

import (
	"fmt"
	"path"
	"strings"
	"sync"
	"testing"
)

// Each lock shows who holds and who waits, with their data, as far as the service knows.
func TestParticipantsOfEach(t *testing.T) {
	data := []byte("who")
	type seen struct {
		waiting bool // it is expected to be shown
		list    func() ([]Participant, error)
	}
	for recipe, make := range map[string]func(*Session, func(int)) (Lock, []seen, error){
		"mutex": func(s *Session, queued func(int)) (Lock, []seen, error) {
			l, err := NewMutex(MutexConfig{Session: s, Path: "/locks/a", Data: data, OnQueued: queued})
			return l, []seen{{true, func() ([]Participant, error) { return l.Participants(within(t)) }}}, err
		},
		"rw": func(s *Session, queued func(int)) (Lock, []seen, error) {
			l, err := NewRW(RWConfig{Session: s, Path: "/locks/a", Data: data, OnQueued: queued})
			return l.Write(), []seen{{true, func() ([]Participant, error) { return l.Participants(within(t)) }},
				{true, func() ([]Participant, error) { return l.Writers(within(t)) }}}, err
		},
		"fair-rw": func(s *Session, queued func(int)) (Lock, []seen, error) {
			l, err := NewFairRW(RWConfig{Session: s, Path: "/locks/a", Data: data, OnQueued: queued})
			return l.Read(), []seen{{true, func() ([]Participant, error) { return l.Participants(within(t)) }},
				{true, func() ([]Participant, error) { return l.Readers(within(t)) }}}, err
		},
		"naive-rw": func(s *Session, queued func(int)) (Lock, []seen, error) {
			l, err := NewNaiveRW(RWConfig{Session: s, Path: "/locks/a", Data: data, OnQueued: queued})
			return l.Write(), []seen{{true, func() ([]Participant, error) { return l.Participants(within(t)) }}}, err
		},
		"naive": func(s *Session, queued func(int)) (Lock, []seen, error) {
			l, err := NewNaiveMutex(NaiveConfig{Session: s, Path: "/locks/a", Data: data, OnQueued: queued})
			return l, []seen{{false, func() ([]Participant, error) { return l.Participants(within(t)) }}}, err
		},
		"semaphore-mutex": func(s *Session, queued func(int)) (Lock, []seen, error) {
			l, err := NewSemaphoreMutex(SemaphoreMutexConfig{Session: s, Path: "/locks/a", Data: data, OnQueued: queued})
			holders := func() (ps []Participant, err error) {
				permits, err := l.Participants(within(t))
				for _, p := range permits {
					ps = append(ps, Participant{Path: p.Path, Session: p.Session, Data: p.Data})
				}
				return ps, err
			}
			both := func() ([]Participant, error) {
				holding, err := holders()
				if err != nil {
					return nil, err
				}
				waiting, err := l.Contenders(within(t))
				return append(holding, waiting...), err
			}
			return l, []seen{{false, holders}, {true, both}}, err
		},
	} {
		svc := newFakeService()
		s, _ := svc.session(t, nil)
		other, _ := svc.session(t, nil)
		queued := newQueued()
		l, lists, err := make(s, queued.call)
		if err != nil {
			t.Fatal(err)
		}
		check := func(when string, holding, waiting int) {
			t.Helper()
			for i, list := range lists {
				want := holding
				if list.waiting {
					want += waiting
				}
				ps, err := list.list()
				if err != nil || len(ps) != want {
					t.Errorf("%s %s, list %d: %+v, %v; want %d", recipe, when, i, ps, err, want)
				}
				for _, p := range ps {
					if string(p.Data) != "who" || !strings.HasPrefix(p.Path, "/locks/a") || p.Session == 0 ||
						path.Clean(p.Path) != p.Path {
						t.Errorf("%s %s, list %d: %+v", recipe, when, i, p)
					}
					if p.Shared != (recipe == "fair-rw") {
						t.Errorf("%s %s: shared=%t", recipe, when, p.Shared)
					}
				}
			}
		}
		check("before the first", 0, 0)
		h, err := l.Acquire(within(t))
		if err != nil {
			t.Fatal(err)
		}
		check("held", 1, 0)
		if recipe != "fair-rw" { // where readers do not wait
			waits := newQueued()
			theirs, _, err := make(other, waits.call)
			if err != nil {
				t.Fatal(err)
			}
			got := acquiring(t, theirs)
			if ahead := <-waits.calls; ahead != 1 {
				t.Errorf("%s: %d ahead of the second", recipe, ahead)
			}
			check("with a waiter", 1, 1)
			if err := h.Release(within(t)); err != nil {
				t.Error(err)
			}
			h = <-got
		}
		if err := h.Release(within(t)); err != nil {
			t.Error(err)
		}
		check("after the last", 0, 0)
		if n := <-queued.calls; n != 0 {
			t.Errorf("%s: %d ahead of the first", recipe, n)
		}
	}
}

// queuedCalls keeps the arguments of the calls of OnQueued.
type queuedCalls struct{ calls chan int }

func newQueued() queuedCalls { return queuedCalls{make(chan int, 10)} }

func (q queuedCalls) call(ahead int) { q.calls <- ahead }

// The naive mutex is released although its data was changed and the reply to the delete was lost, because its znode
// is known by the transaction that created it. Another client's znode is left alone.
func TestNaiveReleaseAfterAChange(t *testing.T) {
	svc := newFakeService()
	s, _ := svc.session(t, count("delete", 1, loseBefore))
	h, err := newLock(t, "naive", s, nil).Acquire(within(t))
	if err != nil {
		t.Fatal(err)
	}
	svc.set("/locks/a", []byte("changed"), 0)
	if err := h.Release(within(t)); err != nil || len(svc.ephemerals()) != 0 {
		t.Errorf("%v, left %v", err, svc.ephemerals())
	}
}

// The participants of a long queue are read without waiting for one another's answers.
func TestParticipantsArePipelined(t *testing.T) {
	svc := newFakeService()
	svc.set("/locks", nil, 0)
	svc.set("/locks/a", nil, 0)
	const contenders = 3 * inspectedAtOnce
	for i := range contenders {
		svc.set(fmt.Sprintf("/locks/a/lock-%010d", i), nil, 1)
	}
	var mu sync.Mutex
	reads := 0
	together := make(chan struct{})
	s, _ := svc.session(t, func(op, _ string) fault {
		if op != "get" {
			return pass
		}
		mu.Lock()
		if reads++; reads == inspectedAtOnce {
			close(together)
		}
		mu.Unlock()
		select {
		case <-together:
		case <-within(t).Done():
			t.Error("a read waits for the answer to another")
		}
		return pass
	})
	found, err := newMutex(MutexConfig{Session: s, Path: "/locks/a"}).Participants(within(t))
	if err != nil || len(found) != contenders {
		t.Fatalf("%d participants, %v", len(found), err)
	}
	for i, p := range found {
		if want := fmt.Sprintf("/locks/a/lock-%010d", i); p.Path != want {
			t.Errorf("participant %d is %s", i, p.Path)
		}
	}
}
