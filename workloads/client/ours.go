package client

import (
	"context"
	"fmt"

	"locklab/harness/history"
	"locklab/recipes"
)

// modal is a lock of ours in the modes that it has; nil for those that it has not.
type modal struct {
	write, read, permits recipes.Lock
	downgrade            func(ctx context.Context, write *recipes.Hold) (*recipes.Hold, error)
}

// in returns the lock in a mode of history's.
func (m modal) in(mode string) recipes.Lock {
	switch mode {
	case history.ModeRead:
		return m.read
	case history.ModePermit:
		return m.permits
	}
	return m.write
}

// ourSource is a session of package recipes. A lock is made when it is first wanted: there may
// be thousands of sessions and hundreds of locks, most of which a session never comes to.
type ourSource struct {
	*sharedSession
	make  func(path string) (modal, error)
	locks map[string]modal
	try   bool
}

// at returns the lock at a path.
func (o ourSource) at(path string) (modal, error) {
	if m, ok := o.locks[path]; ok {
		return m, nil
	}
	m, err := o.make(path)
	if err == nil {
		o.locks[path] = m
	}
	return m, err
}

// ours opens sources of locks that make makes.
func ours(make maker) opener {
	return func(ctx context.Context, c *client) (source, error) {
		cfg := &c.p.cfg
		s, err := c.session.join(ctx, func(ctx context.Context) (*recipes.Session, error) {
			return recipes.Connect(ctx, recipes.SessionConfig{Servers: cfg.serversFor(c.number / cfg.perSession()), Timeout: cfg.SessionTimeout, Dial: c.session.link.dial, OnState: c.state, LeaseClock: cfg.leaseClock(), Logger: c.p.log})
		})
		if err != nil {
			return nil, err
		}
		o := ourSource{sharedSession: s, locks: map[string]modal{}, try: cfg.Try}
		o.make = func(path string) (modal, error) {
			return make(s.Session, path, cfg, func(ahead int) { c.queued(path, ahead) })
		}
		if _, err := o.at(cfg.Locks[0]); err != nil { // one that cannot be made is to be known before the work begins
			_ = s.Close(ctx) // err says what matters
			return nil, err
		}
		return o, nil
	}
}

func (o ourSource) acquire(ctx context.Context, w want) (*grant, error) {
	if len(w.paths) > 1 {
		return o.several(ctx, w)
	}
	m, err := o.at(w.paths[0])
	if err != nil {
		return nil, err
	}
	l := m.in(w.mode)
	if l == nil {
		return nil, fmt.Errorf("the recipe has no mode %q", w.mode)
	}
	acquire := l.Acquire
	if try, ok := l.(recipes.TryLock); ok && o.try {
		acquire = try.TryAcquire
	}
	h, err := acquire(ctx)
	if err != nil {
		return nil, err
	}
	return single(w.paths[0], w.mode, h), nil
}

// several acquires a lock of locks, in the order wanted.
func (o ourSource) several(ctx context.Context, w want) (*grant, error) {
	var cfg recipes.MultiConfig
	for _, path := range w.paths {
		l, err := o.at(path)
		if err != nil {
			return nil, err
		}
		cfg.Members = append(cfg.Members, recipes.Member{Key: path, Lock: l.in(w.mode)})
	}
	m, err := recipes.NewMulti(cfg)
	if err != nil {
		return nil, err
	}
	acquire := m.Acquire
	if o.try {
		acquire = m.TryAcquire
	}
	h, err := acquire(ctx)
	if err != nil {
		return nil, err
	}
	g := &grant{release: h.Release}
	for _, k := range h.Holds() {
		g.parts = append(g.parts, part{lock: k.Key, token: k.Token(), use: k.Token(), hold: k.Hold})
	}
	return g, nil
}

func (o ourSource) downgrade(ctx context.Context, write *grant) (*grant, error) {
	p := write.parts[0]
	under := o.locks[p.lock].downgrade // which is there, as it is held
	if under == nil {
		return nil, errNoDowngrade
	}
	h, err := under(ctx, p.hold)
	if err != nil {
		return nil, err
	}
	return single(p.lock, history.ModeRead, h), nil
}

// single is the grant of one lock.
func single(lock, mode string, h *recipes.Hold) *grant {
	p := part{lock: lock, token: h.Token(), use: h.Token(), hold: h}
	if mode == history.ModePermit {
		// Tokens of permits are compared slot by slot. Where there is no slot, they
		// would accuse holders who may be there together.
		if slots := h.Slots(); len(slots) > 0 {
			p.slot = int64(slots[0])
		} else {
			p.use = 0
		}
	}
	return &grant{parts: []part{p}, release: h.Release}
}
