package curator_test

import (
	"bufio"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"locklab/ensembles/labtest/suite"
	"locklab/recipes"
	"locklab/recipes/curator"
	"locklab/workloads/foreign"
)

// A room counts the visitors in it, by weight, and remembers whether it was ever too full.
type room struct {
	mu       sync.Mutex
	in, most int
	conflict int
}

// enter adds a visitor's weight; a total above the limit is a conflict.
func (r *room) enter(weight, limit int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.in += weight
	r.most = max(r.most, r.in)
	if r.in > limit {
		r.conflict++
	}
}

func (r *room) leave(weight int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.in -= weight
}

// A visitor goes through a room while it holds a lock.
type visitor struct {
	lock   recipes.Lock
	weight int
}

// visit makes every visitor acquire its lock the given number of times, and returns the room.
func (w *world) visit(visitors []visitor, limit, times int) *room {
	w.t.Helper()
	var r room
	var all sync.WaitGroup
	var holds atomic.Int32
	for _, v := range visitors {
		all.Go(func() {
			for range times {
				h, err := v.lock.Acquire(w.within())
				if err != nil {
					w.t.Error(err)
					return
				}
				holds.Add(1)
				r.enter(v.weight, limit)
				r.leave(v.weight)
				if err := h.Release(w.within()); err != nil {
					w.t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	if n := int(holds.Load()); n != len(visitors)*times {
		w.t.Errorf("%d holds, want %d", n, len(visitors)*times)
	}
	return &r
}

// Readers and writers in both languages share one path, and a writer is always alone.
func TestMixedReadersAndWriters(t *testing.T) {
	suite.Nightly(t, "a peer; TestOneQueue has both in one queue")
	w := newWorld(t, "curator-rw")
	// A writer weighs as much as all readers together may weigh.
	const full, times = 100, 60
	rw := func() *recipes.RW {
		l, err := recipes.NewRW(recipes.RWConfig{Session: w.inGo(), Path: w.path})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	r := w.visit([]visitor{
		{rw().Read(), 1}, {w.java(foreign.Read), 1}, {rw().Read(), 1}, {w.java(foreign.Read), 1},
		{rw().Write(), full}, {w.java(foreign.Write), full},
	}, full, times)
	if r.conflict > 0 || r.most < full {
		t.Errorf("%d conflicts; the fullest was %d", r.conflict, r.most)
	}
	w.queued(w.path, 0)

	// Readers in both languages hold the lock together, while writers in both languages wait.
	ours, theirs := w.acquire(rw().Read()), w.acquire(w.java(foreign.Read))
	writers := make(chan *recipes.Hold, 2)
	for _, l := range []recipes.Lock{rw().Write(), w.java(foreign.Write)} {
		go func() {
			h, err := l.Acquire(w.within())
			if err != nil {
				t.Error(err)
			}
			writers <- h
		}()
	}
	w.queued(w.path, 4)
	w.release(ours)
	w.queued(w.path, 3)
	if len(writers) > 0 {
		t.Error("a writer beside a reader")
	}
	w.release(theirs)
	w.release(<-writers)
	w.release(<-writers)
	w.queued(w.path, 0)
}

// Clients in both languages together never hold more permits than there are.
func TestMixedPermits(t *testing.T) {
	suite.Nightly(t, "a peer; TestOneQueue has both in one queue")
	w := newWorld(t, "curator-semaphore")
	const permits, times = 3, 40
	ours := func(n int) recipes.Lock {
		s, err := recipes.NewSemaphore(recipes.SemaphoreConfig{Session: w.inGo(), Path: w.path, Max: permits})
		if err != nil {
			t.Fatal(err)
		}
		return s.Of(n)
	}
	java := func(n int) recipes.Lock { return w.java(foreign.Permits(n, permits)) }
	// A client in Java takes one permit at a time, where the others take several. Curator takes several permits one
	// by one, so two such clients could wait for each other for ever.
	r := w.visit([]visitor{{ours(1), 1}, {java(1), 1}, {ours(2), 2}, {java(1), 1}, {ours(3), 3}}, permits, times)
	if r.conflict > 0 || r.most < permits {
		t.Errorf("%d conflicts; %d permits at most", r.conflict, r.most)
	}
	w.queued(w.path+"/leases", 0)
	w.queued(w.path+"/locks", 0)
}

// A holder in either language learns that a client in the other language asks for the lock.
func TestRevocation(t *testing.T) {
	w := newWorld(t, "curator-mutex")
	revocation := func(verb, path string) *exec.Cmd {
		cmd := exec.CommandContext(
			w.within(),
			w.argv[0],
			append(slices.Clone(w.argv[1:]), curator.Revocation, verb, w.servers[0], path)...)
		cmd.Stderr = t.Output()
		return cmd
	}
	participant := func() string {
		t.Helper()
		w.queued(w.path, 1) // w.conn's server may lag behind
		names, _, err := w.conn.Children(w.path)
		if err != nil || len(names) != 1 {
			t.Fatalf("participants %v, %v", names, err)
		}
		return w.path + "/" + names[0]
	}

	h := w.acquire(w.golang())
	select {
	case <-h.Revoked():
		t.Fatal("the hold is revoked, but no client has asked for it")
	default:
	}
	if err := revocation("ask", participant()).Run(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-h.Revoked():
	case <-w.within().Done():
		t.Fatal("the holder in Go does not hear of Java's revocation")
	}
	if h.Context().Err() != nil {
		t.Error("a revocation ended the hold")
	}
	w.release(h)
	w.queued(w.path, 0)

	cmd := revocation("heed", w.path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	says := bufio.NewScanner(out)
	for _, word := range []string{"held", "asked"} {
		if !says.Scan() || says.Text() != word {
			t.Fatalf("Java says %q, want %q", says.Text(), word)
		}
		if word == "held" {
			if err := w.inGo().Revoke(w.within(), participant()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	w.queued(w.path, 0)
}
