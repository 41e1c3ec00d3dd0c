package main

import (
	"strings"
	"testing"
	"time"

	"locklab/ensembles/labtest/suite"
	"locklab/ensembles/reach"
	"locklab/ensembles/remote"
	"locklab/harness/inspect"
	"locklab/recipes"
)

// waits lets a client hold the lock, and another one wait for it.
func waits(s *stage) {
	a, b := s.client(), s.client()
	h := a.acquire(s.ctx)
	if h == nil {
		s.t.Fatal("the lock was not granted")
	}
	begun := len(s.srv.Ephemerals())
	done := make(chan *recipes.Hold)
	go func() { done <- b.acquire(s.ctx) }()
	for b.directory() && len(s.srv.Ephemerals()) == begun && s.ctx.Err() == nil {
		<-time.After(time.Millisecond)
	}
	s.show()
	a.release(h)
	if h := <-done; h != nil {
		b.release(h)
	}
}

// directory says whether the lock's contenders have znodes of their own.
func (c *client) directory() bool { return ways[c.command[0]].directory }

// What inspect says of each lock, where it can in the state that its bug brings about.
func TestInspectShowsEachLock(t *testing.T) {
	suite.Nightly(t, "starts forty processes; package inspect's tests decide about znodes that are made by hand")
	tests := map[string]struct {
		play func(*stage)
		want inspect.Verdict // empty: it sees no lock
		says string
	}{
		"stale-list":          {waits, inspect.Busy, "held by session"},
		"early-grant":         {waits, inspect.Busy, "held by session"},
		"missing-predecessor": {waits, inspect.Busy, "held by session"},
		"lowest-session":      {waits, inspect.Busy, "held by session"},
		"sound":               {waits, inspect.Busy, "held by session"},
		"late-delete":         {waits, inspect.Busy, "held by session"},
		"recreated":           {func(s *stage) { s.superseded(true) }, inspect.Busy, "held by session"},
		"cut-off-waiter":      {cutOff, inspect.Busy, "held by session"},
		"persistent":          {leaveBehind, inspect.Blocked, "is persistent"},
		// Their one znode is persistent, and says in its data whether somebody has the lock. Nobody but they can read that.
		"wall-lease":   {func(s *stage) { s.superseded(false) }, "", "no lock of a known layout"},
		"data-version": {func(s *stage) { s.superseded(false) }, "", "no lock of a known layout"},
	}
	if len(tests) != len(ways) {
		t.Errorf("%d tests of %d locks", len(tests), len(ways))
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, 3*time.Second, name)
			shown := 0
			s.shows = func() {
				shown++
				r := s.inspected()
				var text strings.Builder
				if err := r.Write(&text, time.Now()); err != nil {
					t.Error(err)
				}
				if !strings.Contains(text.String(), tt.says) || (r.Lock == nil) != (tt.want == "") ||
					r.Lock != nil && r.Lock.Verdict != tt.want {
					t.Errorf("want %q\n%s", tt.want, text.String())
				}
			}
			tt.play(s)
			if shown != 1 {
				t.Errorf("looked at %d times", shown)
			}
		})
	}
}

func (s *stage) inspected() *inspect.Report {
	s.t.Helper()
	i, err := inspect.Open(s.ctx, inspect.Config{Path: lockPath, Between: 10 * time.Millisecond,
		Access: &remote.Access{Ensemble: reach.Ensemble{Servers: s.srv.Addrs()}}})
	if err != nil {
		s.t.Fatal(err)
	}
	defer i.Close(s.ctx)
	r, err := i.Look(s.ctx)
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}
