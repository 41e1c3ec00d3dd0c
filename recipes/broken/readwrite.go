package broken

import (
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/go-zookeeper/zk"

	"locklab/recipes"
)

// A readWrite is a read/write lock of two queues in one directory.
type readWrite struct{ write, read *queue }

func newReadWrite(cfg Config) readWrite {
	rw := readWrite{newQueue(cfg, cfg.Path, writing), newQueue(cfg, cfg.Path, reading)}
	rw.read.blocker = lastWriter
	return rw
}

// writerKey is the key under which a write hold's context has the [attempt] that acquired it.
type writerKey struct{ dir string }

// A downgrade creates the reader's znode for the writer that holds by a, and returns its path.
type downgrade func(c client, a *attempt) (string, error)

// downgrading adds to a read/write lock what its two bugs have in common: like Curator's lock, it knows from its own
// memory that it holds the write lock, and then grants the read lock at once.
func (rw readWrite) downgrading(make downgrade) Ways {
	c := rw.write.c
	write := func(ctx context.Context) (*recipes.Hold, error) {
		a, err := rw.write.enter(ctx)
		if err != nil {
			return nil, err
		}
		s := a.s
		s.Life = context.WithValue(s.Life, writerKey{rw.write.dir}, a)
		return hold(s, a.stat.Czxid, a.remove), nil
	}
	down := func(ctx context.Context, h *recipes.Hold) (*recipes.Hold, error) {
		a, ok := h.Context().Value(writerKey{rw.write.dir}).(*attempt)
		if !ok {
			return nil, errors.New("not a write hold of this lock")
		}
		node, err := make(c, a)
		if err != nil {
			return nil, err
		}
		s, err := c.Session(ctx)
		if err != nil {
			return nil, errors.Join(err, c.remove(node))
		}
		_ = h.Release(ctx)
		return hold(s, h.Token(), func() error { return c.remove(node) }), nil
	}
	return Ways{Write: acquirer(write), Read: rw.read, Downgrade: down}
}

// queuedDowngrade puts the reader at the end of the queue, so the writer at its head enters once the write lock is
// released. It does check that it holds the write lock.
func queuedDowngrade(cfg Config) Ways {
	return newReadWrite(cfg).downgrading(func(c client, a *attempt) (string, error) {
		replies, err := c.Conn.Multi(&zk.CheckVersionRequest{Path: a.path(), Version: -1},
			&zk.CreateRequest{Path: readerPath(a), Acl: everybody, Flags: zk.FlagEphemeral | zk.FlagSequence})
		if err != nil {
			return "", err
		}
		return replies[1].String, nil
	})
}

// localRead puts the reader in the writer's place, but does not check that the writer's znode still exists.
func localRead(cfg Config) Ways {
	return newReadWrite(cfg).downgrading(func(c client, a *attempt) (string, error) {
		node := fmt.Sprintf("%s%010d", readerPath(a), a.seq)
		err := c.repeat(func() error {
			_, err := c.Conn.Create(node, nil, zk.FlagEphemeral, everybody)
			return err
		})
		if err == zk.ErrNodeExists { // by a request whose reply was lost
			err = nil
		}
		return node, err
	})
}

func readerPath(a *attempt) string {
	return path.Join(a.q.dir, "_c_"+a.q.c.GUID()+"-"+reading)
}
