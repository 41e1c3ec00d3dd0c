package zksession

import (
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/go-zookeeper/zk"

	"locklab/recipes/zkproto"
)

// An Op is one operation of a transaction: see [ZooKeeper.Multi].
type Op struct {
	Kind OpKind
	Path string
	// Version is the version that OpCheck, OpDelete and OpSet require of the znode, or AnyVersion.
	Version int32
	// Data is for OpCreate and OpSet.
	Data []byte
	// Mode is for OpCreate. Containers are not supported in a transaction.
	Mode Mode
}

// AnyVersion matches every version: a check with it only checks that the znode exists.
const AnyVersion = -1

// OpKind is what an [Op] does.
type OpKind int

// The operations that a transaction may have.
const (
	// OpCheck changes nothing. It is refused unless the znode exists and has the version.
	OpCheck OpKind = iota
	// OpCreate creates a znode, with the session's ACL.
	OpCreate
	// OpDelete deletes a znode if it has the version.
	OpDelete
	// OpSet sets the data of a znode if it has the version.
	OpSet
)

// An OpError says which operation of a transaction was refused, and why.
type OpError struct {
	Index int // from 0
	Err   error
}

func (e *OpError) Error() string { return fmt.Sprintf("operation %d: %v", e.Index, e.Err) }

// Unwrap returns the reason of the refusal.
func (e *OpError) Unwrap() error { return e.Err }

func (c *connection) Multi(ctx context.Context, ops ...Op) ([]string, error) {
	requests := make([]any, len(ops))
	needs := make([]need, len(ops))
	size := lengths(ops)
	for i, op := range ops {
		data := keep(ctx, op.Data)
		switch op.Kind {
		case OpCheck:
			needs[i] = toRead
			requests[i] = &zk.CheckVersionRequest{Path: op.Path, Version: op.Version}
		case OpCreate:
			if op.Mode == Container {
				return nil, &OpError{i, errors.New("no containers in a transaction")}
			}
			acl := c.cfg.ACL(op.Path)
			needs[i], size = toCreate, size+aclLength(acl)
			requests[i] = &zk.CreateRequest{Path: op.Path, Data: data, Acl: acl, Flags: op.Mode.flags()}
		case OpDelete:
			needs[i] = toDelete
			requests[i] = &zk.DeleteRequest{Path: op.Path, Version: op.Version}
		case OpSet:
			needs[i] = toWrite
			requests[i] = &zk.SetDataRequest{Path: op.Path, Data: data, Version: op.Version}
		default:
			return nil, &OpError{i, fmt.Errorf("no operation of kind %d", op.Kind)}
		}
	}
	if err := c.reserve(ctx, size); err != nil {
		return nil, err
	}
	answers, err := request(ctx, c, func() ([]zk.MultiResponse, error) { return c.conn.Multi(requests...) })
	if err != nil {
		for i, a := range answers {
			// The first to be refused is the reason; those after it are refused because of it.
			if a.Error != nil && !errors.Is(err, ErrConnectionLoss) {
				return nil, &OpError{i, needs[i].explain(err, ops[i].Path)}
			}
		}
		return nil, err
	}
	created := make([]string, len(ops))
	for i, a := range answers {
		created[i] = a.String
	}
	return created, nil
}

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
