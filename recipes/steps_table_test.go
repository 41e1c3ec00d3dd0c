package recipes

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
)

// A scenario is one situation of one recipe, to be played with a fault at each of its steps.
type scenario struct {
	recipe, situation string
	// mine makes the lock of the client under test. theirs makes the lock of all other clients: the one that waits
	// behind it, and the one that comes next. In a scenario without theirs no other client contends.
	mine, theirs maker
	// These check a hold at the service.
	mineIsReal, theirsIsReal reality
	// together says that the other clients may hold at the same time.
	together bool
	// fresh leaves it to the client under test to create the parents.
	fresh bool
	// inTheWay makes the client under test wait, if it is set. It returns a function that ends the wait.
	inTheWay func(*stage) (leave func(context.Context) error, err error)
	// watchful makes the client under test watch its own znode as soon as it waits.
	watchful bool
	// act is what the client under test does.
	act func(*stage) error
	// undecided says that the client may be told that the outcome is unknown.
	undecided bool
	// answers says that the client waits for nobody: it returns while another client is in the way, and may return
	// before it hears that its session is over.
	answers bool
	// after checks the outcome, and removes what is meant to last.
	after func(*stage)
}

// A maker makes a lock.
type maker func(t *testing.T, s *Session, path string, queued func(int)) Lock

// A reality returns an error if the service does not confirm a hold.
type reality func(*stage, *Hold) error

// A family is a lock of one recipe. The scenarios that all recipes share are made from it.
type family struct {
	recipe string
	mine   maker
	real   reality
	// These are the other clients' lock, and that of the holder in the way, where they differ; nil = the same.
	theirs, holder maker
	theirsReal     reality
	after          func(*stage)
	// The things that its holds cannot do.
	unrevocable, unguarded bool
	// permits says that a place in its queue does not become the hold.
	permits bool
	// succeeds says that a waiter may take the lock without a list: see [place.inherits].
	succeeds bool
}

var families = []family{
	{recipe: "mutex", mine: plain("mutex"), real: queued("lock-", ""), succeeds: true},
	{recipe: "rw-write", mine: plain("rw"), real: queued("__WRIT__", ""), holder: reader("rw"), succeeds: true},
	{
		recipe:     "rw-read",
		mine:       reader("rw"),
		real:       queued("__READ__", "__WRIT__"),
		theirs:     plain("rw"),
		theirsReal: queued("__WRIT__", ""),
		succeeds:   true,
	},
	{recipe: "fair-rw-write", mine: plain("fair-rw"), real: queued("-write-", ""), holder: reader("fair-rw")},
	{
		recipe:     "fair-rw-read",
		mine:       reader("fair-rw"),
		real:       queued("-read-", "-write-"),
		theirs:     plain("fair-rw"),
		theirsReal: queued("-write-", ""),
	},
	{recipe: "naive-rw-write", mine: plain("naive-rw"), real: queued("-write-", ""), holder: reader("naive-rw")},
	{
		recipe:     "naive-rw-read",
		mine:       reader("naive-rw"),
		real:       queued("-read-", "-write-"),
		theirs:     plain("naive-rw"),
		theirsReal: queued("-write-", ""),
	},
	{recipe: "naive", mine: plain("naive"), real: theOne, unrevocable: true, unguarded: true},
	{recipe: "semaphore-mutex", mine: plain("semaphore-mutex"), real: leased(1, 1), permits: true},
	{recipe: "semaphore", mine: plain("semaphore"), real: leased(2, 3), permits: true},
	{recipe: "shared-semaphore", mine: plain("shared-semaphore"), real: leased(3, 3), permits: true, after: forgetCount},
	{recipe: "multi", mine: both, real: everyOf("a", "b"), holder: second, unguarded: true},
}

// scenarios returns the whole table.
func scenarios() (all []*scenario) {
	for _, f := range families {
		theirs, theirsReal, holder := f.theirs, f.theirsReal, f.holder
		if theirs == nil {
			theirs, theirsReal = f.mine, f.real
		}
		if holder == nil {
			holder = theirs
		}
		base := scenario{
			recipe:       f.recipe,
			mine:         f.mine,
			theirs:       theirs,
			mineIsReal:   f.real,
			theirsIsReal: theirsReal,
			act:          use,
			after:        f.after,
		}
		alone, behind, first := base, base, base
		alone.situation, behind.situation, first.situation = "uncontended", "behind-a-holder", "first-use"
		behind.inTheWay = held(holder)
		first.fresh = true
		all = append(all, &alone, &behind, &first)
		if f.succeeds {
			last := base
			last.situation, last.inTheWay = "behind-waiters", queueOf(theirs)
			all = append(all, &last)
		}
		all = append(all, f.beyond(base, holder)...)
	}
	writer := scenario{
		recipe:       "rw-write",
		mine:         plain("rw"),
		theirs:       plain("rw"),
		mineIsReal:   queued("__WRIT__", ""),
		theirsIsReal: queued("__WRIT__", ""),
		together:     true,
	}
	downgrade, under := writer, writer
	downgrade.situation, downgrade.act = "downgrade", func(st *stage) error { return readAfterWrite(st, (*RW).Downgrade) }
	under.situation, under.act = "read-under-write", func(st *stage) error { return readAfterWrite(st, (*RW).ReadUnder) }
	resize := scenario{
		recipe:       "shared-semaphore",
		situation:    "resize",
		mine:         plain("shared-semaphore"),
		theirs:       plain("shared-semaphore"),
		mineIsReal:   leased(3, 3),
		theirsIsReal: leased(3, 3),
		act:          use,
		after:        forgetCount,
		inTheWay:     shrunk,
	}
	all = append(all, &downgrade, &under, &resize)
	for situation, sc := range map[string]scenario{
		"get":       {act: getCount, inTheWay: counted(5, 5)},
		"set":       {act: setCount(5), inTheWay: counted(1, 1)},
		"try-set":   {act: trySetCount(5), inTheWay: counted(1, 1)},
		"watch":     {act: watchCount(5), inTheWay: counted(1, 5)},
		"first-use": {act: getCount, fresh: true},
	} {
		sc.recipe, sc.situation, sc.after = "shared-count", situation, wantCount(5)
		all = append(all, &sc)
	}
	slices.SortStableFunc(
		all,
		func(a, b *scenario) int { return strings.Compare(a.recipe+a.situation, b.recipe+b.situation) },
	)
	return all
}

// plain makes the exclusive lock of a recipe: see realLock.
func plain(recipe string) maker {
	return func(t *testing.T, s *Session, path string, queued func(int)) Lock {
		return realLock(t, recipe, s, path, queued)
	}
}

// reader makes the lock of a recipe's readers.
func reader(recipe string) maker {
	return func(t *testing.T, s *Session, path string, queued func(int)) Lock {
		return realRW(t, recipe, s, path, queued).Read()
	}
}

// both makes a lock of two mutexes. Its holds have the token of the first.
func both(t *testing.T, s *Session, path string, queued func(int)) Lock {
	m, err := NewMulti(MultiConfig{Members: []Member{
		{"a", realLock(t, "mutex", s, path+"/a", queued)},
		{"b", realLock(t, "mutex", s, path+"/b", nil)},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return heldAsOne{m}
}

// second makes the second of the two mutexes.
func second(t *testing.T, s *Session, path string, queued func(int)) Lock {
	return realLock(t, "mutex", s, path+"/b", queued)
}

// heldAsOne is a Multi as a Lock.
type heldAsOne struct{ m *Multi }

func (l heldAsOne) Acquire(ctx context.Context) (*Hold, error) {
	m, err := l.m.Acquire(ctx)
	return l.asOne(ctx, m, err)
}

func (l heldAsOne) TryAcquire(ctx context.Context) (*Hold, error) {
	m, err := l.m.TryAcquire(ctx)
	return l.asOne(ctx, m, err)
}

func (heldAsOne) asOne(ctx context.Context, m *MultiHold, err error) (*Hold, error) {
	if err != nil {
		return nil, err
	}
	first := m.Holds()[0]
	h, _ := NewHold(HoldConfig{Parent: m.Context(), Session: first.Session(), Token: first.Token(), Release: m.Release})
	h.revoked, h.revoke = m.revoked, m.revoke
	h.of = first.of // so that its release goes through although it was lost
	return h, nil
}

// held lets the observer hold the lock that the maker makes.
func held(make maker) func(*stage) (func(context.Context) error, error) {
	return func(st *stage) (func(context.Context) error, error) {
		h, err := make(st.t, st.observer, st.path, nil).Acquire(st.ctx)
		if err != nil {
			return nil, err
		}
		return h.Release, nil
	}
}

// queueOf lets the observer hold the lock that the maker makes, and wait for it twice, so that the last of the three
// marks its release if the servers tell transactions.
func queueOf(lock maker) func(*stage) (func(context.Context) error, error) {
	return func(st *stage) (func(context.Context) error, error) {
		hearsOf(st.t, st.observer, st.observer)
		hearsOf(st.t, st.subject, st.observer)
		h, err := lock(st.t, st.observer, st.path, nil).Acquire(st.ctx)
		if err != nil {
			return nil, err
		}
		passed := make(chan error, 2)
		for range cap(passed) {
			queued := make(chan int, 1)
			l := lock(st.t, st.observer, st.path, func(ahead int) { queued <- ahead })
			go func() { // waited for below
				h, err := l.Acquire(st.ctx)
				if err == nil {
					err = h.Release(st.ctx)
				}
				passed <- err
			}()
			<-queued
		}
		return func(ctx context.Context) error { return errors.Join(h.Release(ctx), <-passed, <-passed) }, nil
	}
}

// shrunk leaves a semaphore with too few permits for any client, until its number is raised.
func shrunk(st *stage) (func(context.Context) error, error) {
	c := newCountOf(st.t, st.observer, countOf(st.path), 0)
	return func(ctx context.Context) error { return c.SetCount(ctx, 3) }, c.SetCount(st.ctx, 2)
}

// readAfterWrite acquires the write lock and turns it into a read lock.
func readAfterWrite(st *stage, turn func(*RW, context.Context, *Hold) (*Hold, error)) error {
	rw := realRW(st.t, "rw", st.subject, st.path, nil).(*RW)
	w, err := rw.Write().Acquire(st.doing)
	if err != nil {
		return err
	}
	if st.granted(w, st.sc.mineIsReal) {
		st.contend()
	}
	r, err := turn(rw, st.doing, w)
	if err != nil {
		return errors.Join(err, w.Release(st.doing))
	}
	asReader := func(st *stage, h *Hold) error { return st.atTheHead(st.path, "__READ__", "__WRIT__", h.Session(), 0) }
	st.granted(r, asReader)
	if err := w.Release(st.doing); !errors.Is(err, ErrReleased) && err != nil {
		return errors.Join(err, r.Release(st.doing))
	}
	st.granted(r, asReader)
	return r.Release(st.doing)
}
