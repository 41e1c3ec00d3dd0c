package zktest

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
)

// No request, however malformed, makes the decoder or the service panic, and what it makes the service answer can be
// encoded.
func FuzzRequest(f *testing.F) {
	frame := func(op Op, fields func(*encoder)) []byte {
		e := &encoder{}
		e.Int32(1)
		e.Int32(int32(op))
		fields(e)
		return e.B
	}
	everybody := func(e *encoder) {
		e.Int32(1)
		e.Int32(0x1f)
		e.Text("world")
		e.Text("anyone")
	}
	create := func(e *encoder) { e.Text("/a-"); e.Bytes([]byte("x")); everybody(e); e.Int32(3) }
	f.Add(frame(OpCreate, create))
	f.Add(frame(OpCreate2, create))
	f.Add(frame(OpGetChildren2, func(e *encoder) { e.Text("/"); e.Bool(true) }))
	f.Add(frame(OpGetData, func(e *encoder) { e.Text(""); e.Bool(true) }))
	f.Add(frame(OpDelete, func(e *encoder) { e.Text("/"); e.Int32(-1) }))
	f.Add(frame(OpSetWatches, func(e *encoder) { e.Int64(0); e.Int32(1); e.Text("/a"); e.Int32(-1); e.Int32(1 << 30) }))
	f.Add(frame(OpMulti, func(e *encoder) { e.header(OpCreate, -1); create(e); e.Int32(-1); e.Bool(true); e.Int32(-1) }))
	f.Fuzz(func(t *testing.T, body []byte) {
		s := New(Config{})
		s.mu.Lock()
		ss := s.open(s.servers[0], time.Hour)
		l := s.connect(ss, s.servers[0], nobody{})
		defer s.mu.Unlock()
		defer s.end(ss)
		xid, r, err := decodeRequest(body, ss.id)
		if err != nil {
			return
		}
		reply := encodeReply(xid, r.op, s.execute(l, &r))
		if n := binary.BigEndian.Uint32(reply); int(n) != len(reply)-4 {
			t.Errorf("a frame of %d bytes has the length %d", len(reply)-4, n)
		}
	})
}

// nobody is a client that does not listen.
type nobody struct{}

func (nobody) notify(zk.EventType, string, int64) {}
func (nobody) broken(bool)                        {}
