package recipes

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"locklab/recipes/internal/tasks"
	"locklab/recipes/zksession"
)

func TestJanitorRemoves(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault fault
		gone  bool // the znode has gone before the request
		want  error
	}{
		{"at once", pass, false, nil},
		{"request lost", loseBefore, false, nil},
		{"reply lost", loseAfter, false, nil},
		{"gone before", pass, true, zksession.ErrNoNode},
		{"gone before, request lost", loseBefore, true, nil}, // the janitor cannot know that another client deleted it
		{"expired", expire, false, zksession.ErrSessionExpired},
	} {
		t.Run(c.name, func(t *testing.T) {
			svc := newFakeService()
			s, _ := svc.session(t, count("delete", 1, c.fault))
			if !c.gone {
				svc.set("/n", nil, s.ID())
			}
			if err := <-s.janitor.remove("/n"); !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
				t.Errorf("got %v, want %v", err, c.want)
			}
			if left := svc.ephemerals(); len(left) != 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

func TestJanitorDoesNotGiveUp(t *testing.T) {
	svc := newFakeService()
	var n atomic.Int32
	s, _ := svc.session(t, func(op, _ string) fault {
		if op == "delete" && n.Add(1) <= 4 {
			return loseBefore
		}
		return pass
	})
	svc.set("/n", nil, s.ID())
	if err := <-s.janitor.remove("/n"); err != nil || n.Load() != 5 {
		t.Errorf("%v after %d requests", err, n.Load())
	}
}

func TestJanitorSweepsByPrefix(t *testing.T) {
	for _, op := range []string{"sync", "children", "delete"} {
		for _, what := range []fault{loseBefore, loseAfter} {
			svc := newFakeService()
			svc.set("/d", nil, 0)
			s, _ := svc.session(t, count(op, 1, what))
			for _, name := range []string{"p-1", "p-2", "q-1"} {
				svc.set("/d/"+name, nil, s.ID())
			}
			if err := <-s.janitor.sweep("/d", "p-"); err != nil {
				t.Errorf("%s %d: %v", op, what, err)
			}
			if d := cmp.Diff([]string{"/d/q-1"}, svc.ephemerals()); d != "" {
				t.Errorf("%s %d: left (-want +got):\n%s", op, what, d)
			}
		}
	}
}

func TestJanitorAfterTheEnd(t *testing.T) {
	svc := newFakeService()
	s, _ := svc.session(t, nil)
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-s.janitor.remove("/n"); !errors.Is(err, zksession.ErrSessionClosed) {
		t.Error(err)
	}
}

// A hugeDirectory is a session that finds a directory too large to be listed, some times.
type hugeDirectory struct {
	zksession.ZooKeeper
	lists, huge int
}

func (d *hugeDirectory) Sync(context.Context, string) error { return nil }
func (d *hugeDirectory) Err() error                         { return nil }
func (d *hugeDirectory) Done() <-chan struct{}              { return nil }

func (d *hugeDirectory) Children(context.Context, string) ([]string, error) {
	if d.lists++; d.lists <= d.huge {
		return nil, zksession.ErrTooLarge
	}
	return nil, nil
}

// A list that is too large costs the service as much as any, so the janitor asks for it more and more rarely.
func TestJanitorSparesHugeDirectories(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &hugeDirectory{huge: 10}
		var set tasks.Set
		j := &janitor{zk: d, tasks: &set, log: slog.New(slog.DiscardHandler)}
		start := time.Now()
		if err := <-j.sweep("/d", "p-"); err != nil {
			t.Fatal(err)
		}
		// The pauses are 1, 2, 4 and 8 s, and then 6 of the greatest length.
		if took := time.Since(start); d.lists != 11 || took != 15*time.Second+6*hugeMax {
			t.Errorf("%d lists in %v", d.lists, took)
		}
	})
}
