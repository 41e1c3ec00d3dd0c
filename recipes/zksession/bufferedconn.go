package zksession

import (
	"bufio"
	"net"
)

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
