package broken

import (
	"encoding/binary"
	"net"
	"time"
)

// A greeted connection keeps the beginning of a server's first answer, which says what go-zookeeper keeps to
// itself, or tells too late. Only the goroutine that reads may use it.
type greeted struct {
	net.Conn
	head []byte // length, version, timeout in ms, session
}

const greeting = 4 + 4 + 4 + 8

// Read implements [net.Conn].
func (g *greeted) Read(p []byte) (int, error) {
	n, err := g.Conn.Read(p)
	if missing := greeting - len(g.head); missing > 0 {
		g.head = append(g.head, p[:min(n, missing)]...)
	}
	return n, err
}

// granted returns the session and its negotiated timeout, once the answer has been read.
func (g *greeted) granted() (session int64, timeout time.Duration) {
	if len(g.head) < greeting {
		return 0, 0
	}
	return int64(binary.BigEndian.Uint64(g.head[12:])), time.Duration(int32(binary.BigEndian.Uint32(g.head[8:]))) * time.Millisecond
}
