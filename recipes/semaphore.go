package recipes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
)

// SemaphoreConfig describes a [Semaphore].
type SemaphoreConfig struct {
	Session *Session
	// Path is the semaphore's directory. It is created if it does not exist.
	Path string
	// Max is the number of permits. All clients must give the same number; this is not checked.
	Max int
	// Count, if set, is the number of permits instead of Max, which is then 0. It may change at any time, and must
	// belong to the same session. While it is less than the permits in use, none are granted; none are taken away.
	Count *SharedCount
	// Data is what the znodes of contenders and leases contain, for people that inspect the service. It is copied.
	Data []byte
	// OnQueued, if set, is called once by each attempt to acquire as soon as it knows whether it must wait: with the
	// number of contenders ahead of it in the queue, or 1 if there are none but not enough permits are free, or 0 if
	// it need not wait. It is called again if the attempt starts over because another client deleted one of its
	// znodes.
	OnQueued func(ahead int)

	_ struct{} // no positional literals
}

// A Semaphore is a number of permits that clients hold, each any number of them at a time. It is fair: contenders are
// served in the order in which they queued, even where one that asks for many permits keeps those waiting that ask for
// few. Clients of Apache Curator's InterProcessSemaphoreV2 at the same path share its permits.
type Semaphore struct {
	cfg    SemaphoreConfig
	recipe string // its name, for an observer
}

// NewSemaphore checks the configuration. It asks the service nothing.
func NewSemaphore(cfg SemaphoreConfig) (*Semaphore, error) {
	if err := checkConfig("semaphore", cfg.Session, cfg.Path); err != nil {
		return nil, err
	}
	var err error
	if cfg.Data, err = ownData("semaphore", cfg.Data); err != nil {
		return nil, err
	}
	if cfg.Count == nil && cfg.Max == 0 {
		return nil, fmt.Errorf("semaphore: %w: none: give Max or Count", ErrQuantity)
	}
	if cfg.Count == nil && cfg.Max < 0 {
		return nil, fmt.Errorf("semaphore: %w: at most %d", ErrQuantity, cfg.Max)
	}
	if cfg.Count != nil && cfg.Max != 0 {
		return nil, errors.New("semaphore: both a fixed and a shared number of permits given")
	}
	if cfg.Count != nil && cfg.Count.cfg.Session != cfg.Session {
		return nil, errors.New("semaphore: the shared number of permits is of another session")
	}
	return named("semaphore", cfg), nil
}

// named returns a semaphore of which an observer hears by a name.
func named(recipe string, cfg SemaphoreConfig) *Semaphore {
	cfg.OnQueued = cfg.Session.queued(recipe, cfg.Path, cfg.OnQueued)
	return &Semaphore{cfg, recipe}
}

// Acquire waits until it holds n permits, which it gets all at once; otherwise as
// [Lock].Acquire. It returns an error wrapping ErrQuantity at once if n is less than one
// or more than a fixed Max. With a shared count that is too small it waits.
//
// If ctx is that of a hold of this semaphore, it returns ErrHeld at once where so few permits are left beside those of
// the caller's own holds that it would wait for itself. With a shared count, which may be raised, it waits.
//
// The hold ends as a whole: when another client deletes one of its leases, its context ends, and Release returns the
// others. [Hold.Slots] says which permits it has.
func (s *Semaphore) Acquire(ctx context.Context, n int) (*Hold, error) {
	return s.acquire(ctx, n, false)
}

func (s *Semaphore) acquire(ctx context.Context, n int, try bool) (*Hold, error) {
	if n < 1 || s.cfg.Count == nil && n > s.cfg.Max {
		return nil, fmt.Errorf("acquire %s: %w: %d", s.cfg.Path, ErrQuantity, n)
	}
	if own := permitsOf(claimed(ctx, s.key()).live()); !try && own > 0 && s.cfg.Count == nil && own+n > s.cfg.Max {
		return nil, fmt.Errorf("acquire %s: %w: it has %d of %d permits, and asks for %d",
			s.cfg.Path, ErrHeld, own, s.cfg.Max, n)
	}
	return s.cfg.Session.attempts(ctx, s.recipe, s.cfg.Path, func() (*Hold, error) { return s.attempt(ctx, n, try) })
}

// Of returns the lock that is held by holding n permits.
func (s *Semaphore) Of(n int) TryLock { return quantity{s, n} }

// A quantity is a number of permits of a semaphore.
type quantity struct {
	s *Semaphore
	n int
}

// Acquire implements [Lock].
func (q quantity) Acquire(ctx context.Context) (*Hold, error) { return q.s.Acquire(ctx, q.n) }

func (q quantity) where() site { return site{q.s.cfg.Session, q.s.cfg.Path} }

// A semaphoreKey is the key of a semaphore: see [claim].
type semaphoreKey struct {
	s    *Session
	path string
}

func (s *Semaphore) key() semaphoreKey { return semaphoreKey{s.cfg.Session, s.cfg.Path} }

// permitsOf returns how many permits holds have.
func permitsOf(holds []*Hold) (n int) {
	for _, h := range holds {
		n += len(h.nodes)
	}
	return n
}

func (s *Semaphore) locks() string { return path.Join(s.cfg.Path, "locks") }

// leases returns the directory of the permits in use.
func (s *Semaphore) leases() string { return path.Join(s.cfg.Path, "leases") }

// attempt queues once. On failure it leaves nothing behind but jobs for the janitor.
func (s *Semaphore) attempt(ctx context.Context, n int, try bool) (*Hold, error) {
	guid := s.cfg.Session.guid()
	a := &leasing{s: s, n: n, prefix: leasePrefix(guid)}
	tellAttempt(ctx, s.leases(), a.prefix)
	m := newMutex(MutexConfig{Session: s.cfg.Session, Path: s.locks(), Data: s.cfg.Data, OnQueued: func(ahead int) {
		if ahead > 0 {
			a.report(ahead) // otherwise it depends on the leases
		}
	}})
	m.line.try, m.line.headed, m.line.succeeds = try, a.headed, false
	p, err := m.line.enterAs(ctx, guid)
	if err != nil {
		return nil, err
	}
	a.place = p
	leases, err := a.await(ctx)
	if err != nil {
		p.withdraw(ctx, err)
		return nil, err
	}
	p.own.stop()
	return a.grant(ctx, leases)
}

// Contenders returns the contenders that have a place in the queue but no permits yet, the queue's head first. It
// costs as many requests as [Semaphore.Participants].
func (s *Semaphore) Contenders(ctx context.Context) ([]Participant, error) {
	return newMutex(MutexConfig{Session: s.cfg.Session, Path: s.locks()}).Participants(ctx)
}

// A Permit is one lease of a semaphore, as any client can see it.
type Permit struct {
	// Path is the path of its znode, and Name the last part of that path.
	Path, Name string
	// Slot is -1 if another kind of client holds it.
	Slot int
	// Session is the session that holds it.
	Session int64
	Data    []byte
}

// Participants returns the permits in use, none if the semaphore was never used. It costs one request, and one more
// for each permit, so the result does not show a single moment.
func (s *Semaphore) Participants(ctx context.Context) (permits []Permit, err error) {
	views, err := s.cfg.Session.inspect(ctx, s.leases(), func(name string) bool {
		_, ok := parseLease(name)
		return ok
	})
	if err != nil {
		return nil, fmt.Errorf("participants of %s: %w", s.cfg.Path, err)
	}
	for _, l := range parseLeases(slices.Sorted(maps.Keys(views))) {
		v := views[l.name]
		permits = append(
			permits,
			Permit{Path: path.Join(s.leases(), l.name), Name: l.name, Slot: l.slot, Session: v.stat.Owner, Data: v.data},
		)
	}
	return permits, nil
}

// SemaphoreMutexConfig describes a [SemaphoreMutex]. Its fields are as in [SemaphoreConfig].
type SemaphoreMutexConfig struct {
	Session  *Session
	Path     string
	Data     []byte
	OnQueued func(ahead int)

	_ struct{} // no positional literals
}

// A SemaphoreMutex is a semaphore with one permit: an exclusive lock, fair as [Mutex] is, but not
// reentrant, and at a higher price. Clients of Apache Curator's
// InterProcessSemaphoreMutex at the same path contend for it too, which is what it is for.
type SemaphoreMutex struct {
	s *Semaphore
}

// NewSemaphoreMutex checks the configuration. It asks the service nothing.
func NewSemaphoreMutex(cfg SemaphoreMutexConfig) (*SemaphoreMutex, error) {
	if err := checkConfig("semaphore mutex", cfg.Session, cfg.Path); err != nil {
		return nil, err
	}
	data, err := ownData("semaphore mutex", cfg.Data)
	if err != nil {
		return nil, err
	}
	return &SemaphoreMutex{named("semaphore-mutex",
		SemaphoreConfig{Session: cfg.Session, Path: cfg.Path, Max: 1, Data: data, OnQueued: cfg.OnQueued})}, nil
}

// Acquire implements [Lock].
func (m *SemaphoreMutex) Acquire(ctx context.Context) (*Hold, error) { return m.s.Acquire(ctx, 1) }

func (m *SemaphoreMutex) where() site { return site{m.s.cfg.Session, m.s.cfg.Path} }

// Participants is [Semaphore.Participants]: the holder, if there is one.
func (m *SemaphoreMutex) Participants(ctx context.Context) ([]Permit, error) {
	return m.s.Participants(ctx)
}

// Contenders is [Semaphore.Contenders].
func (m *SemaphoreMutex) Contenders(ctx context.Context) ([]Participant, error) {
	return m.s.Contenders(ctx)
}
