package recipes

import (
	"context"
	"fmt"
)

// RWConfig describes an [RW], a [FairRW] or a [NaiveRW].
type RWConfig struct {
	Session *Session
	// Path is the lock's directory, whose children are its queue. It is created if
	// it does not exist.
	Path string
	// Data is what the contenders' znodes contain, for people that inspect the service. It is copied.
	Data []byte
	// OnQueued, if set, is called by Acquire once it has its place in the queue, with the number of contenders that
	// must leave before it can hold: for a reader, without those behind the last writer ahead of it. It is called
	// again if the attempt starts over because its znode was deleted by another client. This attempt waits for
	// OnQueued; the queue does not.
	OnQueued func(ahead int)

	_ struct{} // no positional literals
}

// An RW is a fair read/write lock: readers hold together, a writer holds alone, and all of them queue by the order in
// which the service created their znodes, so that neither kind starves the other. A writer can become a reader without
// letting another writer in between: [RW.Downgrade]. Clients of Apache Curator's InterProcessReadWriteLock at the same
// path take part in the same queue.
type RW struct {
	rwLines
}

// Read returns the lock whose holds exclude writers, as of every read/write lock. A writer that asks for it with a
// context that descends from its write hold's gets [RW.ReadUnder] at once, and keeps the write hold.
func (rw *RW) Read() TryLock { return readers{&rw.rwLines, rw.ReadUnder} }

// NewRW checks the configuration. It asks the service nothing.
func NewRW(cfg RWConfig) (*RW, error) {
	lines, err := newRWLines("rw", cfg, rwLayout)
	if err != nil {
		return nil, err
	}
	return &RW{lines}, nil
}

// rwLines are the two ways into the queue of a read/write lock.
type rwLines struct {
	read, write line
}

func newRWLines(recipe string, cfg RWConfig, layout layout) (rwLines, error) {
	if err := checkConfig(recipe, cfg.Session, cfg.Path); err != nil {
		return rwLines{}, err
	}
	data, err := ownData(recipe, cfg.Data)
	if err != nil {
		return rwLines{}, err
	}
	l := line{s: cfg.Session, dir: cfg.Path, data: data, layout: layout}
	r, w := l, l
	r.kind, r.blocks, r.recipe = reading, everyWriter, recipe+"/read"
	w.kind, w.blocks, w.recipe = writing, everybody, recipe+"/write"
	for _, l := range []*line{&r, &w} {
		l.onQueued = l.s.queued(l.recipe, l.dir, cfg.OnQueued)
	}
	return rwLines{r, w}, nil
}

// Read returns the lock whose holds exclude writers. The tokens of its holds are higher than those of earlier
// writers, but have no order among themselves: a reader may be granted the lock before one that queued earlier. A
// writer that asks for it with a context that descends from its write hold's gets ErrUpgrade, because it would wait for
// itself; of an [RW] it gets the lock.
func (rw *rwLines) Read() TryLock { return readers{rw: rw} }

// Write returns the lock whose holds exclude all others. It refuses with ErrUpgrade a context that descends from
// [Hold.Context] or [Hold.Within] of a hold of the same lock and session, or from [MultiHold.Context] of a [Multi]
// with one. A holder that asks with a context that comes from neither waits for itself until that ends (TryAcquire
// fails at once): it cannot be told from another client of the session, which waits for the holder with good reason.
func (rw *rwLines) Write() TryLock { return writers{rw} }

// Participants returns every contender in the queue, holders first. It costs one request, and one more for each
// contender, so the result does not show a single moment.
func (rw *rwLines) Participants(ctx context.Context) ([]Participant, error) {
	return rw.read.participants(ctx, func(contender) bool { return true })
}

// Readers is Participants without the writers.
func (rw *rwLines) Readers(ctx context.Context) ([]Participant, error) {
	return rw.read.participants(ctx, func(c contender) bool { return c.kind == reading })
}

// Writers is Participants without the readers.
func (rw *rwLines) Writers(ctx context.Context) ([]Participant, error) {
	return rw.write.participants(ctx, func(c contender) bool { return c.kind == writing })
}

// writers is the [Lock] of the writers.
type writers struct{ rw *rwLines }

func (w writers) where() site { return w.rw.write.where() }
func (r readers) where() site { return r.rw.read.where() }

func (w writers) Acquire(ctx context.Context) (*Hold, error) { return w.acquire(ctx, &w.rw.write) }

func (w writers) acquire(ctx context.Context, l *line) (*Hold, error) {
	if w.rw.read.holdOf(ctx) != nil || w.rw.write.holdOf(ctx) != nil {
		return nil, fmt.Errorf("acquire %s: %w", l.dir, ErrUpgrade)
	}
	return l.Acquire(ctx)
}

// readers is the [Lock] of the readers.
type readers struct {
	rw *rwLines
	// under, if set, adds a read hold to a write hold.
	under func(ctx context.Context, write *Hold) (*Hold, error)
}

// Acquire implements [Lock].
func (r readers) Acquire(ctx context.Context) (*Hold, error) { return r.acquire(ctx, &r.rw.read) }

// TryAcquire implements [TryLock].
func (r readers) TryAcquire(ctx context.Context) (*Hold, error) {
	return r.acquire(ctx, r.rw.read.trying())
}

func (r readers) acquire(ctx context.Context, l *line) (*Hold, error) {
	switch write := r.rw.write.holdOf(ctx); {
	case write == nil:
		return l.Acquire(ctx)
	case r.under == nil:
		return nil, fmt.Errorf("acquire %s: %w", l.dir, ErrUpgrade)
	default:
		return r.under(ctx, write)
	}
}
