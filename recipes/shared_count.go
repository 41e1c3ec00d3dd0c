package recipes

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"path"

	"locklab/recipes/internal/tasks"
	"locklab/recipes/zksession"
)

// SharedCountConfig describes a [SharedCount].
type SharedCountConfig struct {
	Session *Session
	// Path is the count's znode. The znode and its missing parents are created.
	Path string
	// Seed is the value that the znode is created with. If the znode exists already, Seed is ignored.
	Seed int32

	_ struct{} // no positional literals
}

// A SharedCount is a number that all clients see. Clients of Apache Curator's
// SharedCount at the same path share it. Its methods may be called from any goroutine.
type SharedCount struct {
	cfg SharedCountConfig
}

// A Count is the value of a [SharedCount] as it was after one change of it.
type Count struct {
	Value int32
	// Version counts the changes since the znode was created. It wraps around.
	Version int32
	// Zxid is the transaction that made this value: the order of values.
	Zxid int64
	// created is the transaction that created the znode. The versions begin again with each.
	created int64
}

// NewSharedCount checks the configuration. It asks the service nothing.
func NewSharedCount(cfg SharedCountConfig) (*SharedCount, error) {
	if err := checkConfig("shared count", cfg.Session, cfg.Path); err != nil {
		return nil, err
	}
	return &SharedCount{cfg: cfg}, nil
}

// Get returns the value. It creates the znode if it does not exist. The value is as recent as
// the session's server; see [SharedCount.Watch] for how to keep it so.
func (c *SharedCount) Get(ctx context.Context) (Count, error) {
	v, err := settled(ctx, c.get)
	return v, c.wrap("get", err)
}

// Latest is Get, but misses no change that was committed before the call, because the session's server first catches
// up with the leader. If every client sets the value only under a lock, a client that holds that lock needs no more
// than Get: its session saw the last holder's znode gone, and its reads are never older than what it has seen.
func (c *SharedCount) Latest(ctx context.Context) (Count, error) {
	v, err := c.latest(ctx)
	return v, c.wrap("get", err)
}

func (c *SharedCount) latest(ctx context.Context) (Count, error) {
	return settled(ctx, func(ctx context.Context) (Count, error) {
		if err := c.cfg.Session.zk.Sync(ctx, c.cfg.Path); err != nil {
			return Count{}, err
		}
		return c.get(ctx)
	})
}

// SetOp is the operation that sets the value, whatever it is, in a transaction such as [Hold.Multi]'s. It
// is refused if the znode does not exist.
func (c *SharedCount) SetOp(value int32) zksession.Op {
	return zksession.Op{Kind: zksession.OpSet, Path: c.cfg.Path, Data: encodeCount(value), Version: zksession.AnyVersion}
}

// get is Get without repetitions.
func (c *SharedCount) get(ctx context.Context) (Count, error) {
	for {
		v, err := c.read(ctx)
		if !errors.Is(err, zksession.ErrNoNode) {
			return v, err
		}
		if err := c.create(ctx); err != nil {
			return Count{}, err
		}
	}
}

// read is get of a znode that exists.
func (c *SharedCount) read(ctx context.Context) (Count, error) {
	data, stat, err := c.cfg.Session.zk.Get(ctx, c.cfg.Path)
	return newCount(data, stat, err)
}

// watch is get with a waiter for the next change.
func (c *SharedCount) watch(ctx context.Context) (Count, *waiter, error) {
	for {
		data, stat, w, err := c.cfg.Session.hub.get(ctx, c.cfg.Path)
		if errors.Is(err, zksession.ErrNoNode) {
			if err := c.create(ctx); err != nil {
				return Count{}, nil, err
			}
			continue
		}
		v, err := newCount(data, stat, err)
		if err != nil && w != nil {
			w.stop()
			w = nil
		}
		return v, w, err
	}
}

// create creates the znode, unless another client was faster.
func (c *SharedCount) create(ctx context.Context) error {
	zk := c.cfg.Session.zk
	_, err := zk.Create(ctx, c.cfg.Path, encodeCount(c.cfg.Seed), zksession.Persistent)
	switch {
	case errors.Is(err, zksession.ErrNodeExists):
		return nil
	case errors.Is(err, zksession.ErrNoNode):
		return ensureDir(ctx, zk, path.Dir(c.cfg.Path)) // and the next look creates again
	}
	return err
}

// SetCount sets the value, whatever it was.
func (c *SharedCount) SetCount(ctx context.Context, value int32) error {
	_, err := settled(ctx, func(ctx context.Context) (none struct{}, err error) {
		for {
			set, err := c.set(ctx, value)
			if set || err != nil {
				return none, err
			}
		}
	})
	return c.wrap("set", err)
}

// set sets the value, unless another client sets it in between.
//
// The set requires the version, so that a repetition after a lost reply cannot undo what another client has set since.
// It may hit a znode that was deleted and created again, which does no harm: the value is set, whatever it was.
func (c *SharedCount) set(ctx context.Context, value int32) (bool, error) {
	last, err := c.get(ctx)
	if err != nil {
		return false, err
	}
	if last.Version == zksession.AnyVersion {
		return false, errors.New("the version has wrapped around to -1, which matches any version")
	}
	_, err = c.cfg.Session.zk.Multi(
		ctx,
		zksession.Op{Kind: zksession.OpSet, Path: c.cfg.Path, Data: encodeCount(value), Version: last.Version},
	)
	switch {
	case errors.Is(err, zksession.ErrBadVersion) || errors.Is(err, zksession.ErrNoNode):
		return false, nil
	case !errors.Is(err, zksession.ErrConnectionLoss):
		return err == nil, err
	}
	// After a sync the request has had its effect or never will: see [creator.find]. If the znode is as it was, it had
	// none. Otherwise the value was set, or another client was faster; then it is as if ours had come just before.
	now, err := c.latest(ctx)
	return err == nil && now.Zxid != last.Zxid, err
}

// Watch calls seen with the value, and again with each later one that it learns of, in order, until ctx ends or the
// session is over, and returns why. It always learns of the latest value, but may miss earlier ones that follow each
// other quickly. seen runs in the caller's goroutine and delays only this call.
func (c *SharedCount) Watch(ctx context.Context, seen func(Count)) error {
	s := c.cfg.Session
	for last := int64(0); ; {
		// A watch survives a reconnect, unless the server refuses to set it again. The client is not told of that, so
		// it reads the value again.
		again := s.zk.Reconnected()
		v, w, err := c.watch(ctx)
		if errors.Is(err, zksession.ErrConnectionLoss) {
			continue
		}
		if err != nil {
			return c.wrap("watch", err)
		}
		if v.Zxid > last {
			last = v.Zxid
			seen(v)
		}
		select {
		case <-w.C:
		case <-again:
		case <-s.Done():
			err = s.Err()
		case <-ctx.Done():
			err = tasks.Ended(ctx)
		}
		w.stop()
		if err != nil {
			return c.wrap("watch", err)
		}
	}
}

func (c *SharedCount) wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s count %s: %w", what, c.cfg.Path, err)
}

func newCount(data []byte, stat zksession.Stat, err error) (Count, error) {
	if err != nil {
		return Count{}, err
	}
	if len(data) != 4 {
		return Count{}, fmt.Errorf("the data has %d bytes, want 4", len(data))
	}
	return Count{Value: int32(binary.BigEndian.Uint32(data)), Version: stat.Version, Zxid: stat.Mzxid,
		created: stat.Czxid}, nil
}

func encodeCount(value int32) []byte { return binary.BigEndian.AppendUint32(nil, uint32(value)) }
