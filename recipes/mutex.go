package recipes

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// MutexConfig describes a [Mutex].
type MutexConfig struct {
	Session *Session
	// Path is the lock's directory, whose children are its queue. It is created if
	// it does not exist.
	Path string
	// Data is what the contenders' znodes contain, for people who look.
	Data []byte
	// OnQueued, if set, is called by Acquire once it has its place in the queue, with
	// the number of contenders ahead of it. It is called again if the attempt starts
	// over because its znode was deleted by somebody else. The queue waits for
	// nobody, but this attempt waits for OnQueued.
	OnQueued func(ahead int)

	_ struct{} // no positional literals
}

// A Mutex is a fair exclusive lock: contenders queue by the order in which the service
// created their znodes. It is not reentrant. Clients of Apache Curator's
// InterProcessMutex at the same path take part in the same queue.
type Mutex struct {
	cfg MutexConfig
}

// NewMutex checks the configuration. It asks the service nothing.
func NewMutex(cfg MutexConfig) (*Mutex, error) {
	if cfg.Session == nil {
		return nil, errors.New("mutex: no session given")
	}
	if err := checkPath(cfg.Path); err != nil {
		return nil, fmt.Errorf("mutex: %w", err)
	}
	return &Mutex{cfg: cfg}, nil
}

// Acquire implements [Lock].
//
// If the attempt's znode is deleted by somebody else while it waits, the attempt
// starts over at the end of the queue, as long as the session lives.
func (m *Mutex) Acquire(ctx context.Context) (*Hold, error) {
	for {
		h, err := m.attempt(ctx)
		if err == nil {
			return h, nil
		}
		if !errors.Is(err, errNodeGone) {
			return nil, fmt.Errorf("acquire %s: %w", m.cfg.Path, err)
		}
		if err := m.cfg.Session.Err(); err != nil {
			return nil, fmt.Errorf("acquire %s: %w", m.cfg.Path, err)
		}
	}
}

// attempt queues once. On failure it leaves nothing behind but a job for the janitor.
func (m *Mutex) attempt(ctx context.Context) (*Hold, error) {
	p, err := m.enter(ctx)
	if err != nil {
		return nil, err
	}
	return p.grant(), nil
}

// enter queues once and returns a place at the head of the queue, whose znode is then the caller's to remove.
func (m *Mutex) enter(ctx context.Context) (*place, error) {
	if ctx.Err() != nil {
		return nil, ended(ctx)
	}
	s := m.cfg.Session
	prefix := protectedPrefix(uuid.NewString())
	name, err := creator{s, m.cfg.Path, prefix, m.cfg.Data}.create(ctx)
	if err != nil {
		return nil, err
	}
	p := &place{mutex: m, prefix: prefix, name: name}
	if err := p.await(ctx); err != nil {
		p.leave(err)
		return nil, err
	}
	return p, nil
}

// A place is one attempt's place in the queue: its znode, created in this session.
type place struct {
	mutex  *Mutex
	prefix string
	name   string
	own    *waiter // for our own znode's deletion; nil until it is watched
	stat   Stat    // our own znode's
	queued bool    // OnQueued was called
}

func (p *place) path() string { return path.Join(p.mutex.cfg.Path, p.name) }

// leave gives the place up because of err.
func (p *place) leave(err error) {
	if p.own != nil {
		p.own.stop()
	}
	if !errors.Is(err, errNodeGone) {
		p.mutex.cfg.Session.janitor.remove(p.path())
	}
}

// await waits until the place is at the head of the queue.
//
// A hold is granted iff, all in this one session, a list of the directory shows our
// znode first, our znode belongs to the session, and the session is not over
// after both answers. Why that suffices: at the instant of the list every
// contender before us was gone, none can come before us later, for numbers only
// rise while the directory exists and it exists while our znode does, and our
// znode stays until somebody deletes it or the session ends. A list without a look at the owner would not do:
// read in another session, or about another session's znode, it proves nothing about ours.
func (p *place) await(ctx context.Context) error {
	s := p.mutex.cfg.Session
	if me, ok := parseContender(p.name); !ok || me.exhausted() {
		return fmt.Errorf("%w: %s", ErrSequenceExhausted, p.name)
	}
	for {
		ahead, err := p.look(ctx)
		if errors.Is(err, ErrConnectionLoss) {
			continue // nothing but reads, which wait until we are connected again
		}
		if err != nil {
			return err
		}
		if !p.queued {
			p.queued = true
			if p.mutex.cfg.OnQueued != nil {
				p.mutex.cfg.OnQueued(len(ahead))
			}
		}
		if len(ahead) == 0 {
			return s.Err()
		}
		err = p.wait(ctx, ahead[len(ahead)-1].name)
		if err != nil && !errors.Is(err, ErrNoNode) && !errors.Is(err, ErrConnectionLoss) {
			return err
		}
	}
}

// look returns the contenders ahead, first to last. The first time it also reads
// and watches our own znode, in the same round trip.
func (p *place) look(ctx context.Context) ([]contender, error) {
	s := p.mutex.cfg.Session
	ownErr := make(chan error, 1)
	if p.own == nil {
		go func() { // waited for below
			_, stat, own, err := s.hub.get(ctx, p.path())
			if err == nil {
				p.stat, p.own = stat, own
			}
			ownErr <- err
		}()
	} else {
		ownErr <- nil
	}
	children, err := s.zk.Children(ctx, p.mutex.cfg.Path)
	if own := <-ownErr; err == nil {
		err = own
	}
	if errors.Is(err, ErrNoNode) {
		return nil, errNodeGone // the directory's absence is ours too
	}
	if err != nil {
		return nil, err
	}
	if p.stat.Owner != s.ID() {
		return nil, errNodeGone
	}
	p.removeSurplus(children)
	q := queue(children)
	i := slices.IndexFunc(q, func(c contender) bool { return c.name == p.name })
	if i < 0 {
		return nil, errNodeGone
	}
	return q[:i], nil
}

// removeSurplus deletes every other znode of this attempt. There should be none;
// one would be an orphan in the way of all who come later, ourselves included.
func (p *place) removeSurplus(children []string) {
	for _, name := range children {
		if name != p.name && strings.HasPrefix(name, p.prefix) {
			p.mutex.cfg.Session.janitor.remove(path.Join(p.mutex.cfg.Path, name))
		}
	}
}

// wait returns when the predecessor's znode has changed or gone, which is the only
// contender watched: a release wakes one waiter. A read with a watch rather than a
// check of existence, since that would leave a watch behind on a znode that has gone.
func (p *place) wait(ctx context.Context, predecessor string) error {
	s := p.mutex.cfg.Session
	_, _, pred, err := s.hub.get(ctx, path.Join(p.mutex.cfg.Path, predecessor))
	if err != nil {
		return err
	}
	defer pred.stop()
	select {
	case <-pred.C:
		return nil
	case <-p.own.C:
		// Deleted or changed. The next look tells, and has to watch anew.
		p.own = nil
		return nil
	case <-s.Done():
		return s.Err()
	case <-ctx.Done():
		return ended(ctx)
	}
}

// grant makes the hold, whose end at the latest is the session's, or our znode's.
func (p *place) grant() *Hold {
	s := p.mutex.cfg.Session
	node := p.path()
	h := newHold(s.life, s.ID(), p.stat.Czxid, func(ctx context.Context) error {
		return s.confirm(ctx, s.janitor.remove(node))
	})
	s.guard(h, node, p.own)
	return h
}
