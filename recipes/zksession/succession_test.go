package zksession

import (
	"bytes"
	"io"
	"net"
	"testing"

	"github.com/go-zookeeper/zk"

	"locklab/recipes/zkproto"
)

// A heard is an event of a watch, as a server tells it.
type heard struct {
	kind zk.EventType
	path string
	zxid int64
}

// rest is the part of a frame that is still to be read from a connection.
type rest struct {
	net.Conn
	io.Reader
}

func (r rest) Read(p []byte) (int, error) { return r.Reader.Read(p) }

// hear lets a connection read an event.
func (c *framedConn) hear(t *testing.T, e heard) {
	t.Helper()
	body := new(zkproto.Encoder).Int32(zkproto.EventXid).Int64(e.zxid).Int32(0).Int32(int32(e.kind)).Int32(3).
		Text(e.path).B
	frame := append(new(zkproto.Encoder).Int32(int32(len(body))).B, body...)
	const head = 4 + zkproto.ReplyHeader
	c.Conn = rest{Reader: bytes.NewReader(frame[head:])}
	whole, err := c.event(frame[:head:head], len(body))
	if err != nil {
		t.Fatal(err)
	}
	tail, err := io.ReadAll(c.Conn)
	if err != nil || !bytes.Equal(append(whole, tail...), frame) {
		t.Errorf("an event of %d bytes is read as %x, then %x, %v", len(frame), whole, tail, err)
	}
}

// A succession says that the znode ahead has gone only if our own was there, and that it was freed only if one
// transaction did both.
func TestSuccession(t *testing.T) {
	const own, ahead = "/lock/b", "/lock/a"
	set := func(zxid int64) heard { return heard{zk.EventNodeDataChanged, ahead, zxid} }
	gone := func(zxid int64) heard { return heard{zk.EventNodeDeleted, ahead, zxid} }
	ours := func(kind zk.EventType) heard { return heard{kind, own, 7} }
	for name, c := range map[string]struct {
		events      []heard
		unseen      bool // the read of our own znode has no answer, or another session's
		ours        bool // the one ahead is our own session's
		left, freed bool
	}{
		"nothing":                     {},
		"deleted":                     {events: []heard{gone(9)}, left: true},
		"a marked release":            {events: []heard{set(9), gone(9)}, left: true, freed: true},
		"set, and deleted later":      {events: []heard{set(8), gone(9)}, left: true},
		"only set":                    {events: []heard{set(9)}},
		"an old server":               {events: []heard{set(-1), gone(-1)}, left: true},
		"no transaction":              {events: []heard{set(0), gone(0)}, left: true},
		"our own was deleted first":   {events: []heard{ours(zk.EventNodeDeleted), set(9), gone(9)}},
		"our own was deleted between": {events: []heard{set(9), ours(zk.EventNodeDeleted), gone(9)}},
		"our own was set, so unseen":  {events: []heard{ours(zk.EventNodeDataChanged), set(9), gone(9)}},
		"our own was deleted after": {events: []heard{set(9), gone(9), ours(zk.EventNodeDeleted)}, left: true,
			freed: true},
		"our own was not there":        {events: []heard{set(9), gone(9)}, unseen: true},
		"our session's end, or not":    {events: []heard{gone(9), ours(zk.EventNodeDeleted)}, ours: true},
		"another znode":                {events: []heard{{zk.EventNodeDeleted, "/lock/c", 9}}},
		"another znode was set as one": {events: []heard{{zk.EventNodeDataChanged, "/lock/c", 9}, gone(9)}, left: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := &framedConn{tellsTransactions: true}
			s := &Succession{own: own, ahead: ahead, frames: f, there: !c.unseen, theirs: !c.ours}
			if !f.begin(s, true) {
				t.Fatal("it is refused")
			}
			for _, e := range c.events {
				f.hear(t, e)
			}
			if s.Left() != c.left || s.Freed() != c.freed {
				t.Errorf("left %t, freed %t; want %t, %t", s.Left(), s.Freed(), c.left, c.freed)
			}
			s.End()
			if len(f.successions) != 0 {
				t.Errorf("the connection still has %v", f.successions)
			}
		})
	}
}

// Transactions are compared only once the server has told one, and what is made up after a reconnect has none.
func TestSuccessionsNeedTransactions(t *testing.T) {
	f := &framedConn{}
	s := &Succession{own: "/b", ahead: "/a", frames: f, there: true, theirs: true}
	if f.begin(s, true) {
		t.Error("begun, although the server has told of no transaction")
	}
	f.hear(t, heard{zk.EventNodeDeleted, "/z", -1})
	if f.begin(s, true) {
		t.Error("begun, although the server tells no transactions")
	}
	if !f.begin(s, false) {
		t.Error("refused, although no transactions are to be compared")
	}
	f.hear(t, heard{zk.EventNodeDeleted, "/z", 4})
	if !f.begin(s, true) {
		t.Error("refused, although the server tells transactions")
	}
	var none *Succession
	none.End()
	if none.Left() || none.Freed() {
		t.Error("without a succession something is known")
	}
}
