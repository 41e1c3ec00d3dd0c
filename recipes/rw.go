package recipes

import (
	"context"
	"errors"
	"fmt"

	"locklab/recipes/internal/tasks"
	"locklab/recipes/zksession"
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
	lines.read.succeeds, lines.write.succeeds, lines.write.downgrades = true, true, true
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

// Downgrade turns a write hold of this lock into a read hold, with no moment in between
// in which a writer could get in. It is [RW.ReadUnder] and the release of write,
// which counts as released even if that is not confirmed when ctx ends: it
// goes on in the background, and until then merely keeps others waiting. Of a write hold that was entered
// again ([Hold.Reenter]) it undoes one entry, and the write hold goes on beside the read hold. After
// an error the write hold is as it was.
//
// Inside [Do] with the write lock it would end the context of the work, and Do would return ErrReleased. Use
// [RW.ReadUnder] there, or Do(ctx, rw.Read(), …) with the context of the work.
func (rw *RW) Downgrade(ctx context.Context, write *Hold) (*Hold, error) {
	read, err := rw.ReadUnder(ctx, write)
	if err != nil {
		return nil, err
	}
	_ = write.Release(ctx)
	return read, nil
}

// ReadUnder returns a read hold beside a write hold of this lock, which stays. The next writer gets in when both have
// been released; readers get in once the write hold has been released.
//
// One transaction checks that the write hold's znode is there and creates the reader's, at the writer's place in the
// queue: writers queued behind the one wait behind the other, and a client that has lost the write lock gets nothing.
// The token of the read hold is the write hold's, because the new znode is younger than those of writers that come
// later.
//
// It returns at once, since it need not wait for any contender. Its errors are the write hold's end (ErrReleased, or
// wrapping ErrLockLost), and those of [Lock].
func (rw *RW) ReadUnder(ctx context.Context, write *Hold) (*Hold, error) {
	l := &rw.read
	h, err := l.s.acquire(l.recipe, l.dir, func() (*Hold, error) { return rw.readUnder(ctx, write) })
	if err != nil {
		return nil, fmt.Errorf("downgrade %s: %w", l.dir, err)
	}
	return h, nil
}

func (rw *RW) readUnder(ctx context.Context, write *Hold) (*Hold, error) {
	l := &rw.read
	if write == nil || write.place == nil || write.place.line.key() != rw.write.key() {
		return nil, errors.New("not a write hold of this lock")
	}
	if ctx.Err() != nil {
		return nil, tasks.Ended(ctx)
	}
	write.place.divided.Store(true) // before the look: a release that begins later sees it
	if write.ctx.Err() != nil {
		return nil, context.Cause(write.ctx)
	}
	at, _ := l.layout.parse(write.place.name) // this cannot fail: the hold's own name parses
	prefix := protectedPrefix(l.s.guid(), l.layout[reading])
	tellAttempt(ctx, l.dir, prefix)
	p := &place{line: l, prefix: prefix, name: fmt.Sprintf("%s%010d", prefix, at.seq), queued: true}
	create := func(ctx context.Context) (struct{}, error) { return struct{}{}, p.insert(ctx, write.place.path()) }
	if _, err := owned(ctx, l.s, create, func(struct{}) { l.s.janitor.remove(p.path()) }); err != nil {
		return nil, err
	}
	if err := p.see(ctx); err != nil {
		l.s.janitor.remove(p.path())
		return nil, err
	}
	// A client that was asked to leave as a writer is still asked as a reader.
	p.revoked = p.revoked || write.revoked.Err() != nil
	return p.hold(write.token), nil
}

// insert creates the place's znode while writer exists. If that is not known when it
// returns an error, it leaves the znode, which may exist, to the janitor.
func (p *place) insert(ctx context.Context, writer string) (err error) {
	s, unknown := p.line.s, false
	defer func() {
		if err != nil && unknown {
			s.janitor.remove(p.path())
		}
	}()
	for {
		if err := s.zk.Await(ctx); err != nil {
			return err
		}
		// The request itself is not given up: its removal must not overtake it.
		_, err := s.zk.Multi(context.WithoutCancel(ctx),
			zksession.Op{Kind: zksession.OpCheck, Path: writer, Version: zksession.AnyVersion},
			zksession.Op{Kind: zksession.OpCreate, Path: p.path(), Data: p.line.data, Mode: zksession.Ephemeral})
		switch {
		case errors.Is(err, zksession.ErrNoNode): // the writer, without which there may be no directory either
			return lost(s.whyGone(writer))
		case !errors.Is(err, zksession.ErrConnectionLoss):
			return err
		}
		unknown = true
		exists, err := p.exists(ctx)
		if err != nil {
			return err
		}
		if exists {
			return nil
		}
		unknown = false
	}
}

// exists reports whether an unanswered request has created the place's znode. If not,
// it never will: see [creator.find], whose argument holds for any request.
func (p *place) exists(ctx context.Context) (bool, error) {
	s := p.line.s
	_, err := settled(ctx, func(ctx context.Context) (none struct{}, err error) {
		if err = s.zk.Sync(ctx, p.line.dir); err == nil {
			_, _, err = s.zk.Get(ctx, p.path())
		}
		return none, err
	})
	if errors.Is(err, zksession.ErrNoNode) {
		return false, nil
	}
	return err == nil, err
}

// see watches the place's znode, which has been created, and makes sure that it is ours.
func (p *place) see(ctx context.Context) error {
	s := p.line.s
	data, stat, own, err := s.watchOwn(ctx, p.path())
	if errors.Is(err, zksession.ErrNoNode) {
		return lost(s.whyGone(p.path()))
	}
	if err != nil {
		return err
	}
	p.stat, p.own, p.revoked = stat, own, isRevocation(data)
	if err := s.mayHold(); err != nil {
		own.stop()
		if errors.Is(err, ErrLeaseExpired) {
			err = lost(err) // as the write hold was
		}
		return err
	}
	return nil
}

// A NaiveRW is the read/write lock that most people write first: the same queue as [FairRW], on the same path if need
// be, but every waiter watches the whole directory. Each arrival and each departure wakes all waiters, most of which
// find that it does not concern them. It is there to be compared with.
type NaiveRW struct {
	rwLines
}

// NewNaiveRW checks the configuration. It asks the service nothing.
func NewNaiveRW(cfg RWConfig) (*NaiveRW, error) {
	lines, err := newRWLines("naive-rw", cfg, textbookLayout)
	if err != nil {
		return nil, err
	}
	lines.read.herd, lines.write.herd = true, true
	return &NaiveRW{lines}, nil
}

// A FairRW is the read/write lock of ZooKeeper's manual without its herd: a reader watches the last writer before it, a
// writer the contender just before it, so that a release wakes only contenders that may have been waiting for it. It
// differs from [RW] by the names of its znodes, and cannot downgrade. It is there to be compared with.
type FairRW struct {
	rwLines
}

// NewFairRW checks the configuration. It asks the service nothing.
func NewFairRW(cfg RWConfig) (*FairRW, error) {
	lines, err := newRWLines("fair-rw", cfg, textbookLayout)
	if err != nil {
		return nil, err
	}
	return &FairRW{lines}, nil
}
