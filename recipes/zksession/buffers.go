package zksession

import (
	"bufio"
	"context"
	"net"

	"github.com/go-zookeeper/zk"
)

const (
	// sendBuffer holds the largest request: go-zookeeper re-sends watches after a
	// reconnect in requests of up to 128 KiB and drops them silently where the
	// buffer is too small.
	sendBuffer = 132 << 10
	// receiveBuffer bounds the largest reply, which is the list of a lock's contenders: about 8,000 of them fit. A
	// larger one is ErrTooLarge.
	receiveBuffer = 512 << 10

	// firstBuffer is what both ways begin with on a new connection. Nearly all that a
	// recipe sends and receives fits into it.
	firstBuffer = 4 << 10
	// requestOverhead bounds what a request contains besides its paths and data: a header, lengths, the access
	// control list and flags.
	requestOverhead = 128
)

// buffers makes go-zookeeper's buffers as large as needed, not as large as they may ever
// have to be: a process with a thousand sessions would have 650 MB of them, and as
// much again of garbage, which the collector lets grow with what is in use.
//
// go-zookeeper sizes both buffers when a connection is made, but reads its limits from
// fields that its options set, and an option is a function that can be called again. It is,
// only in the goroutine that reads the field:
//
//   - The receiving goroutine makes a buffer of the limit's size when it starts, and a larger
//     one for a reply that does not fit and is within the limit. So the limit is low until
//     its first read.
//   - The sending goroutine takes the buffer anew for each request. It gets the large one from
//     its own write of the request before the one that needs it. A later connection starts with
//     the large one, since what it sends first are the watches.
type buffers struct {
	conn *zk.Conn
	// dialled says that a connection was made before. Only the goroutine that dials knows it.
	dialled bool
}

// take is an option: the first that gets hold of the connection.
func (b *buffers) take(conn *zk.Conn) {
	b.conn = conn
	zk.WithMaxConnBufferSize(firstBuffer)(conn)
}

// dial prepares a connection; neither the sending nor the receiving goroutine is running.
func (b *buffers) dial(socket *handshakeConn) {
	growing(b.conn, socket, receiveBuffer)
	socket.widen = func() { zk.WithMaxConnBufferSize(sendBuffer)(b.conn) }
	if b.dialled {
		socket.wide.Store(true)
		zk.WithMaxConnBufferSize(sendBuffer)(b.conn)
	}
	b.dialled = true
}

// growing lets the buffer for answers begin small on a connection that was just made, and grow up to a limit; 0 = none.
func growing(conn *zk.Conn, socket *handshakeConn, limit int) {
	zk.WithMaxBufferSize(firstBuffer)(conn)
	socket.receiving = func() { zk.WithMaxBufferSize(limit)(conn) }
}

// lengths returns how many bytes of paths and data the operations contain, including the overhead of each operation.
func lengths(ops []Op) (n int) {
	for _, op := range ops {
		n += len(op.Path) + len(op.Data) + requestOverhead
	}
	return n
}

// reserve makes sure that a request with that many bytes of paths and data can be sent. If the buffer is still the
// small one, it sends another request first.
func (c *connection) reserve(ctx context.Context, size int) error {
	if size+requestOverhead <= firstBuffer {
		return nil
	}
	if err := c.Await(ctx); err != nil {
		return err
	}
	c.mu.Lock()
	socket := c.socket
	c.mu.Unlock()
	if socket == nil || socket.wide.Load() { // nil: the connection has gone since
		return nil
	}
	socket.wanted.Store(true)
	_, err := request(ctx, c, func() (bool, error) {
		found, _, err := c.conn.Exists("/")
		return found, err
	})
	return err
}

// A bufferedConn reads ahead. go-zookeeper asks for an answer's length and then for its body, a
// system call each, and an acquisition is little else than system calls. An answer that is longer
// than the buffer is read past it.
type bufferedConn struct {
	net.Conn
	ahead *bufio.Reader
}

// readAhead holds several of the answers that recipes get.
const readAhead = 1 << 10

func newBufferedConn(conn net.Conn) bufferedConn {
	return bufferedConn{conn, bufio.NewReaderSize(conn, readAhead)}
}

func (c bufferedConn) Read(p []byte) (int, error) { return c.ahead.Read(p) }
