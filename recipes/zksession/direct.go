package zksession

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"sync"

	"github.com/go-zookeeper/zk"

	"locklab/recipes/internal/tasks"
	"locklab/recipes/zkproto"
)

// A direct request is one that this package writes itself, on the connection that go-zookeeper has made and reads.
//
// The recipes' commonest requests are direct, for three reasons. go-zookeeper has no create that returns the znode's
// stat. It does not say in which order it sends two requests, so two that depend on each other's order take two round
// trips. And a request passes through two of its goroutines and one of ours, because it takes no context. Requests that
// set watches are go-zookeeper's, because it has to set them again after a reconnect, and so are the rare ones.
//
// A server answers a connection's requests in the order in which they were written, whoever wrote them.
type direct struct {
	op   int32
	body []byte
	// decode reads the body of an answer without an error. It is called by the goroutine that reads the connection, and
	// must not keep the slice.
	decode func(body []byte) error
	answer chan error // gets the one outcome
}

func newDirect(op int32, body []byte, decode func([]byte) error) *direct {
	return &direct{op: op, body: body, decode: decode, answer: make(chan error, 1)}
}

// Direct requests have numbers of their own. go-zookeeper counts up from 1, and would get here after 2³⁰ requests of
// one session. Even then two requests would have to be under way with the same number to be mistaken for each other.
const (
	firstXid = 1 << 30
	xidMask  = firstXid - 1
)

// nextXid returns the number of the next direct request. Numbers go on after a reconnect, as go-zookeeper's do.
func (c *connection) nextXid() int32 { return int32(firstXid | c.xids.Add(1)&xidMask) }

// send writes requests, one right after the other and nothing in between. After an error none was written. Otherwise
// each is answered: see [connection.answer].
//
// It blocks, whatever ctx says, while the socket's buffer is full, until the connection is given up.
func (c *connection) send(ctx context.Context, requests ...*direct) error {
	frames, err := c.served(ctx)
	if err != nil {
		return err
	}
	return c.sendOn(ctx, frames, requests...)
}

// sendOn is send on one connection, which may be lost by now.
func (c *connection) sendOn(ctx context.Context, frames *framedConn, requests ...*direct) error {
	// go-zookeeper sends the session's credentials again on each connection, before anything else of its own.
	select {
	case <-frames.proved:
	case <-ctx.Done():
		return tasks.Ended(ctx)
	case <-c.done:
		return c.Err()
	}
	var out zkproto.Encoder
	sent := make([]sentRequest, len(requests))
	for i, d := range requests {
		if len(d.body)+requestOverhead > sendBuffer {
			return fmt.Errorf("%w: a request may have %d bytes", ErrTooLarge, sendBuffer)
		}
		sent[i] = sentRequest{xid: c.nextXid(), op: d.op, direct: d}
		out.Int32(int32(8 + len(d.body))).Int32(sent[i].xid).Int32(d.op)
		out.B = append(out.B, d.body...)
	}
	if !frames.send(out.B, sent) {
		return c.translate(zk.ErrConnectionClosed)
	}
	return nil
}

// served waits until the session is connected, and returns the connection that it has then. The session may be
// disconnected again as soon as Await returns, and the next connection is there before its handshake: a request that is
// written to that would come before the connect request.
func (c *connection) served(ctx context.Context) (*framedConn, error) {
	for {
		if err := c.Await(ctx); err != nil {
			return nil, err
		}
		c.mu.Lock()
		frames, connected := c.frames, c.connected
		c.mu.Unlock()
		if connected {
			return frames, nil
		}
	}
}

// answer waits for the answer to a request that was sent.
func (c *connection) answer(ctx context.Context, d *direct) error {
	select {
	case err := <-d.answer:
		return c.translate(err)
	case <-ctx.Done():
		return tasks.Ended(ctx)
	case <-c.done:
		return c.Err()
	}
}

// do sends one request and waits for its answer.
func (c *connection) do(ctx context.Context, op int32, body []byte, decode func([]byte) error) error {
	d := newDirect(op, body, decode)
	if err := c.send(ctx, d); err != nil {
		return err
	}
	return c.answer(ctx, d)
}

// send writes frames, which are those of the requests. It returns false, and has written nothing, if the connection is
// lost. If the writing fails, the requests are answered when go-zookeeper has given the connection up.
func (c *framedConn) send(frames []byte, requests []sentRequest) bool {
	c.mu.Lock()
	if c.lost {
		c.mu.Unlock()
		return false
	}
	c.sent(requests...)
	c.mu.Unlock()
	if _, err := c.Conn.Write(frames); err != nil {
		_ = c.Conn.Close() // go-zookeeper's reader notices
	}
	return true
}

// prove notes that the server has accepted n credentials. c.mu is held.
func (c *framedConn) prove(n int) {
	c.unproved -= n
	if c.unproved <= 0 && !tasks.Closed(c.proved) {
		close(c.proved)
	}
}

// lose answers the direct requests of a connection that has been given up.
func (c *framedConn) lose() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lost = true
	c.prove(c.unproved) // nobody waits for that any more
	for _, r := range c.pending {
		if r.direct != nil {
			r.direct.answer <- zk.ErrConnectionClosed // has room: each is answered once
		}
	}
	c.pending = nil
}

// bodies are the buffers for the bodies of answers to direct requests. All sessions of a process share them, because a
// long list is read once for many small answers.
var bodies = sync.Pool{New: func() any { return new([]byte) }}

// take reads the body of the answer to a direct request.
func (c *framedConn) take(d *direct, code int32, length int) error {
	buffer := bodies.Get().(*[]byte)
	defer bodies.Put(buffer)
	if cap(*buffer) < length {
		*buffer = make([]byte, length)
	}
	body := (*buffer)[:length]
	if _, err := io.ReadFull(c.Conn, body); err != nil {
		d.answer <- zk.ErrConnectionClosed
		return err
	}
	err := errorOf(code)
	if err == nil && d.decode != nil {
		err = d.decode(body)
	}
	d.answer <- err
	return nil
}

// errorsOf are go-zookeeper's errors by the server's codes.
var errorsOf = map[int32]error{
	zkproto.CodeOK:             nil,
	zkproto.CodeNoNode:         zk.ErrNoNode,
	zkproto.CodeNoAuth:         zk.ErrNoAuth,
	zkproto.CodeBadVersion:     zk.ErrBadVersion,
	zkproto.CodeEphemeral:      zk.ErrNoChildrenForEphemerals,
	zkproto.CodeNodeExists:     zk.ErrNodeExists,
	zkproto.CodeNotEmpty:       zk.ErrNotEmpty,
	zkproto.CodeSessionExpired: zk.ErrSessionExpired,
	zkproto.CodeInvalidACL:     zk.ErrInvalidACL,
	zkproto.CodeAuthFailed:     zk.ErrAuthFailed,
	zkproto.CodeMoved:          zk.ErrSessionMoved,
}

// errorOf returns go-zookeeper's error for a server's code.
func errorOf(code int32) error {
	err, known := errorsOf[code]
	if !known {
		err = fmt.Errorf("%s%d", unknownCode, code)
	}
	return err
}

func (c *connection) Delete(ctx context.Context, path string) error {
	err := c.do(ctx, zkproto.OpDelete, new(zkproto.Encoder).Text(path).Int32(AnyVersion).B, nil)
	return denied(err, toDelete, "delete", path)
}

func (c *connection) Get(ctx context.Context, path string) (data []byte, stat Stat, err error) {
	var n node
	err = c.do(ctx, zkproto.OpGetData, new(zkproto.Encoder).Text(path).Bool(false).B, func(b []byte) (err error) {
		n, err = takeNode(b)
		return err
	})
	if err != nil {
		return nil, Stat{}, denied(err, toRead, "get", path) // the reader may still write to n
	}
	return n.data, n.stat, nil
}

// takeNode takes the answer to a read of a znode.
func takeNode(b []byte) (n node, err error) {
	absent := len(b) >= 4 && int32(binary.BigEndian.Uint32(b)) < 0
	length, b, err := takeLength(b)
	if err != nil {
		return node{}, err
	}
	if !absent {
		n.data = append(make([]byte, 0, length), b[:length]...)
	}
	n.stat, err = takeStat(b[length:])
	return n, err
}

func (c *connection) Children(ctx context.Context, path string) ([]string, error) {
	list, names := lister(path)
	if err := c.send(ctx, list); err != nil {
		return nil, err
	}
	if err := c.answer(ctx, list); err != nil {
		return nil, denied(err, toRead, "list", path)
	}
	return *names, nil
}

// lister returns a request for a list of children, and where to find the list once it is answered.
func lister(path string) (*direct, *[]string) {
	names := new([]string)
	return newDirect(zkproto.OpGetChildren2, new(zkproto.Encoder).Text(path).Bool(false).B, func(b []byte) (err error) {
		*names, err = takeNames(b)
		return err
	}), names
}
