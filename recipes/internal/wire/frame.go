package wire

import (
	"encoding/binary"
	"io"
	"time"
)

// ZooKeeper's codes of the requests that tests look at.
const (
	OpCreate          int32 = 1
	OpDelete          int32 = 2
	OpGetData         int32 = 4
	OpSetData         int32 = 5
	OpSync            int32 = 9
	OpPing            int32 = 11
	OpChildren        int32 = 12
	OpMulti           int32 = 14
	OpCreate2         int32 = 15
	OpCreateContainer int32 = 19
	OpSetWatches      int32 = 101
	OpClose           int32 = -11
)

// OpNames are the requests' names, for those of subtests.
var OpNames = map[int32]string{
	OpCreate:          "create",
	OpDelete:          "delete",
	OpGetData:         "getData",
	OpSetData:         "setData",
	OpSync:            "sync",
	OpPing:            "ping",
	OpChildren:        "getChildren",
	OpMulti:           "multi",
	OpCreate2:         "create2",
	OpCreateContainer: "createContainer",
	OpSetWatches:      "setWatches",
	OpClose:           "close",
}

// readFrame reads one frame, length included.
func readFrame(r io.Reader) ([]byte, error) {
	head := make([]byte, 4)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, err
	}
	frame := append(head, make([]byte, binary.BigEndian.Uint32(head))...)
	_, err := io.ReadFull(r, frame[4:])
	return frame, err
}

// A grant is what a server says when a session connects.
type grant struct {
	session  int64
	timeout  time.Duration
	password []byte
}

// parseGrant reads a connect response with its length. A session that does not exist any
// more is refused with the id 0.
func parseGrant(frame []byte) (g grant, ok bool) {
	const head = 4 + 4 + 4 + 8 + 4 // length, version, timeout, session, length of the password
	if len(frame) < head {
		return g, false
	}
	g.timeout = time.Duration(int32(binary.BigEndian.Uint32(frame[8:]))) * time.Millisecond
	g.session = int64(binary.BigEndian.Uint64(frame[12:]))
	n := int(binary.BigEndian.Uint32(frame[20:]))
	if n > len(frame)-head {
		return g, false
	}
	g.password = append([]byte(nil), frame[head:head+n]...)
	return g, g.session != 0
}
