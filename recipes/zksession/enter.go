package zksession

import (
	"context"
	"errors"
	"path"

	"locklab/recipes/zkproto"
)

// An Entry is what [ZooKeeper.Enter] did and saw.
type Entry struct {
	// Path is the created znode's, with its number.
	Path string
	// Stat is the znode's when it was created. It is zero if the server does not say: ZooKeeper before 3.5 does not.
	Stat Stat
	// Names are the names of all children of its parent, in no order, at some moment after the create.
	Names []string
	// Err says why there is no list although the znode was created.
	Err error
}

// Enter sends the create and the list without waiting in between. A server carries out a session's requests in order,
// and answers a read only when it has carried out the session's writes before it; so the list is of a moment after the
// create, unless others have deleted the znode since.
//
// The stat is the answer to create2, which servers have since version 3.5. The server fills it in as it carries out the
// create, from the very znode that it makes (DataTree.processTxn), so it needs no proof by the order of transactions.
func (c *connection) Enter(ctx context.Context, node string, data []byte) (Entry, error) {
	op := int32(zkproto.OpCreate2)
	if c.noStat.Load() {
		op = zkproto.OpCreate
	}
	e, err := c.createAndList(ctx, op, node, data)
	if op == zkproto.OpCreate2 && errors.Is(err, ErrUnimplemented) {
		c.noStat.Store(true)
		return c.createAndList(ctx, zkproto.OpCreate, node, data)
	}
	return e, err
}

func (c *connection) createAndList(ctx context.Context, op int32, node string, data []byte) (Entry, error) {
	var e Entry
	body := new(zkproto.Encoder).Text(node).Bytes(data).ACL(c.cfg.ACL(node)).Int32(EphemeralSequential.flags()).B
	create := newDirect(op, body, func(b []byte) (err error) {
		if e.Path, b, err = takeString(b); err == nil && op == zkproto.OpCreate2 {
			e.Stat, err = takeStat(b)
		}
		return err
	})
	list, names := lister(path.Dir(node))
	if err := c.send(ctx, create, list); err != nil {
		return Entry{}, err
	}
	if err := c.answer(ctx, create); err != nil {
		return Entry{}, denied(err, toCreate, "create", node) // the reader may still write to e
	}
	if e.Err = denied(c.answer(ctx, list), toRead, "list", path.Dir(node)); e.Err == nil {
		e.Names = *names
	}
	return e, nil
}
