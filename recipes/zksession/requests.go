package zksession

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/go-zookeeper/zk"

	"locklab/recipes/internal/tasks"
	"locklab/recipes/zkproto"
)

// request makes one call of go-zookeeper, which takes no context. If ctx can end, the call runs in a goroutine that
// the connection waits for, and that is left to itself when ctx ends.
func request[T any](ctx context.Context, c *connection, call func() (T, error)) (T, error) {
	var none T
	// While disconnected nothing is queued: a request that was never sent needs
	// no cleaning up.
	if err := c.Await(ctx); err != nil {
		return none, err
	}
	if ctx.Done() == nil {
		v, err := call()
		return v, c.translate(err)
	}
	type answer struct {
		v   T
		err error
	}
	answers := make(chan answer, 1)
	if !c.calls.Start(func() { v, err := call(); answers <- answer{v, err} }) {
		return none, c.Err()
	}
	select {
	case a := <-answers:
		return a.v, c.translate(a.err)
	case <-ctx.Done():
		return none, tasks.Ended(ctx)
	}
}

// go-zookeeper has no values for these codes, only this text.
const (
	unknownCode       = "unknown error: "
	codeLoss          = unknownCode + "-4"
	codeTimeout       = unknownCode + "-7"
	codeUnimplemented = unknownCode + "-6"
	// codeUnknownSession is what a server that stands alone answers where others say that the session has expired. It
	// has forgotten the session, and a session never comes back.
	codeUnknownSession = unknownCode + "-12"
	// codeWantsSASL is what a server answers that enforces authentication by a scheme which the session has not used.
	codeWantsSASL = unknownCode + "-124"
	textTooLarge  = unknownCode + "-10001" // codeTooLarge
)

// translate turns go-zookeeper's answer into this package's errors. An answer that does not certainly mean "no
// effect" becomes ErrConnectionLoss, or the session's end.
func (c *connection) translate(err error) error {
	switch err {
	case nil:
		return nil
	case zk.ErrNoNode:
		return ErrNoNode
	case zk.ErrNodeExists:
		return ErrNodeExists
	case zk.ErrBadVersion:
		return ErrBadVersion
	case zk.ErrNoAuth:
		return ErrNoAuth
	case zk.ErrNoChildrenForEphemerals, zk.ErrNotEmpty, ErrInvalidACL,
		zk.ErrInvalidFlags, zk.ErrInvalidPath, zk.ErrBadArguments:
		return err
	case zk.ErrShortBuffer: // nothing was sent
		return fmt.Errorf("%w: a request may have %d bytes: %w", ErrTooLarge, sendBuffer, err)
	}
	text := err.Error()
	switch {
	case text == codeUnimplemented:
		return ErrUnimplemented
	case text == textTooLarge:
		return fmt.Errorf("%w: an answer may have %d bytes", ErrTooLarge, receiveBuffer)
	case text == codeUnknownSession || errors.Is(err, zk.ErrSessionExpired):
		// As an answer to a request this comes from the leader, perhaps before
		// the connection learns of it.
		c.finish(ErrSessionExpired)
	case text == codeWantsSASL || errors.Is(err, zk.ErrAuthFailed):
		// A server closes the connection then. Of a credential that it refused, the connection has heard already.
		c.finish(fmt.Errorf("%w: the server enforces authentication by another scheme, perhaps SASL", ErrAuthFailed))
	case strings.HasPrefix(text, unknownCode) && text != codeLoss && text != codeTimeout:
		return err // throttled, over quota, …
	}
	if over := c.Err(); over != nil {
		return over
	}
	return fmt.Errorf("%w: %w", ErrConnectionLoss, err)
}

func (c *connection) Create(ctx context.Context, path string, data []byte, mode Mode) (string, error) {
	acl := c.cfg.ACL(path)
	if err := c.reserve(ctx, len(path)+len(data)+aclLength(acl)); err != nil {
		return "", err
	}
	data = keep(ctx, data)
	created, err := request(ctx, c, func() (string, error) {
		if mode == Container {
			return c.conn.CreateContainer(path, data, zk.FlagContainer, acl)
		}
		return c.conn.Create(path, data, mode.flags(), acl)
	})
	return created, denied(err, toCreate, "create", path)
}

// keep returns data as a request may go on using it: a copy, if ctx can end and leave the request to itself, because
// the caller may change the slice from then on.
func keep(ctx context.Context, data []byte) []byte {
	if ctx.Done() == nil {
		return data
	}
	return bytes.Clone(data)
}

// flags returns the mode as the create request encodes it; that request has no code for containers.
func (m Mode) flags() int32 {
	switch m {
	case Ephemeral:
		return zk.FlagEphemeral
	case EphemeralSequential:
		return zk.FlagEphemeralSequential
	}
	return zk.FlagPersistent
}

// node is an answer to a read.
type node struct {
	data []byte
	stat Stat
}

func newNode(data []byte, s *zk.Stat) node {
	if s == nil {
		return node{}
	}
	return node{data, Stat{Czxid: s.Czxid, Owner: s.EphemeralOwner, Ctime: s.Ctime, Mzxid: s.Mzxid, Version: s.Version,
		Children: s.NumChildren}}
}

func (c *connection) GetW(ctx context.Context, path string, fired func(Event)) ([]byte, Stat, error) {
	n, err := watching(ctx, c, path, fired, func() (node, <-chan zk.Event, error) {
		data, stat, events, err := c.conn.GetW(path)
		return newNode(data, stat), events, err
	})
	return n.data, n.stat, denied(err, toRead, "get", path)
}

// watching makes a call that sets a watch, and makes sure that fired is called.
func watching[T any](
	ctx context.Context,
	c *connection,
	path string,
	fired func(Event),
	call func() (T, <-chan zk.Event, error),
) (T, error) {
	return request(ctx, c, func() (none T, err error) {
		c.mu.Lock()
		doubt := c.doubt
		c.rewatch.add(path)
		c.mu.Unlock()
		over := func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.rewatch.remove()
		}
		v, events, err := call()
		if err != nil {
			over()
			return none, err
		}
		if !c.calls.Start(func() {
			e := c.watched(events, doubt)
			over()
			fired(e)
		}) {
			return none, zk.ErrClosing
		}
		return v, nil
	})
}

// watched waits for the event that ends a watch, or until it is in doubt whether there is one.
func (c *connection) watched(events <-chan zk.Event, doubt <-chan struct{}) Event {
	select {
	case <-doubt:
		return Changed
	case e := <-events:
		switch e.Type {
		case zk.EventNodeDeleted:
			return Deleted
		case zk.EventNodeDataChanged, zk.EventNodeChildrenChanged:
			return Changed
		}
	case <-c.done:
	}
	return Unwatched
}

func (c *connection) ChildrenW(ctx context.Context, path string, fired func(Event)) ([]string, error) {
	names, err := watching(ctx, c, path, fired, func() ([]string, <-chan zk.Event, error) {
		names, _, events, err := c.conn.ChildrenW(path)
		return names, events, err
	})
	return names, denied(err, toRead, "list", path)
}

// Sync is a transaction that changes nothing, because ZooKeeper's own sync promises too little. A leader answers the
// sync of one of its own clients like a read, so it may overtake writes that the leader has proposed and not carried
// out (CommitProcessor's matchSyncs), and a leader that has lost its quorum answers it until it notices
// (ZOOKEEPER-1675). A transaction is proposed like any other write, refused ones included, and is answered behind all
// that were proposed before it.
func (c *connection) Sync(ctx context.Context, path string) error {
	_, err := c.Multi(ctx, Op{Kind: OpCheck, Path: path, Version: AnyVersion})
	if errors.Is(err, ErrNoNode) || errors.Is(err, ErrNoAuth) {
		return nil
	}
	return err
}

// errMalformed says that an answer is not what the protocol says.
var errMalformed = errors.New("malformed answer")

// takeLength takes the length of what follows. A length of -1 stands for a value that is absent.
func takeLength(b []byte) (n int, rest []byte, err error) {
	if len(b) < 4 {
		return 0, nil, errMalformed
	}
	n = max(0, int(int32(binary.BigEndian.Uint32(b))))
	if n > len(b)-4 {
		return 0, nil, errMalformed
	}
	return n, b[4:], nil
}

func takeString(b []byte) (s string, rest []byte, err error) {
	n, b, err := takeLength(b)
	if err != nil {
		return "", nil, err
	}
	return string(b[:n]), b[n:], nil
}

// takeNames takes a list of strings. They share one string in memory, so a list costs two allocations, however long it
// is; one name that is kept keeps the memory of all.
func takeNames(b []byte) ([]string, error) {
	if len(b) < 4 {
		return nil, errMalformed
	}
	count := max(0, int(int32(binary.BigEndian.Uint32(b))))
	if b = b[4:]; count > len(b)/4 {
		return nil, errMalformed
	}
	all, at := string(b), 0
	names := make([]string, count)
	for i := range names {
		n, rest, err := takeLength(b)
		if err != nil {
			return nil, err
		}
		at += 4
		names[i] = all[at : at+n]
		at, b = at+n, rest[n:]
	}
	return names, nil
}

// takeStat takes a znode's stat.
func takeStat(b []byte) (Stat, error) {
	if len(b) < zkproto.StatLength {
		return Stat{}, errMalformed
	}
	long := func(at int) int64 { return int64(binary.BigEndian.Uint64(b[at:])) }
	short := func(at int) int32 { return int32(binary.BigEndian.Uint32(b[at:])) }
	// czxid, mzxid, two times; the versions of data, children and ACL; owner; the length of the data, how many children
	// there are; the children's zxid
	return Stat{Czxid: long(0), Mzxid: long(8), Ctime: long(16), Version: short(32), Owner: long(44),
		Children: short(56)}, nil
}
