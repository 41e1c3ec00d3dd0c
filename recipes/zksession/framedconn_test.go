package zksession

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"testing"
	"time"

	"locklab/recipes/zkproto"
)

// requestFrame is a request as go-zookeeper writes it.
func requestFrame(xid, op int32, body ...byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(8+len(body)))
	b = binary.BigEndian.AppendUint32(b, uint32(xid))
	return append(binary.BigEndian.AppendUint32(b, uint32(op)), body...)
}

// replyFrame is a server's answer.
func replyFrame(xid int32, zxid int64, code int32, body ...byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(zkproto.ReplyHeader+len(body)))
	b = binary.BigEndian.AppendUint32(b, uint32(xid))
	b = binary.BigEndian.AppendUint64(b, uint64(zxid))
	return append(binary.BigEndian.AppendUint32(b, uint32(code)), body...)
}

// Each answer is told apart by its request, with the time when that was sent, also where a ping's overtakes it, and
// however the bytes arrive. Nothing is added or lost on the way.
func TestFramedAnswers(t *testing.T) {
	const ping = -2
	stream := bytes.Join([][]byte{
		{0, 0, 0, 3, 'y', 'e', 's'}, // to the connect request
		replyFrame(ping, 9, 0),
		replyFrame(-1, 0, 0, []byte("event")...),
		replyFrame(1, 10, -101),
		replyFrame(2, 11, 0, []byte("data")...),
	}, nil)
	for size := 1; size <= len(stream); size++ {
		client, server := net.Pipe()
		var got []answer
		c := &framedConn{Conn: client, answered: func(a answer) { got = append(got, a) }}
		go func() { _, _ = io.Copy(io.Discard, server) }() // ends with the connection
		var sent []time.Time
		for _, frame := range [][]byte{
			requestFrame(0, 0), requestFrame(1, opGet), requestFrame(ping, 11), requestFrame(2, opGet),
		} {
			if _, err := c.Write(frame); err != nil {
				t.Fatal(err)
			}
			sent = append(sent, time.Now())
		}
		go func() {
			for b := stream; len(b) > 0; b = b[min(size, len(b)):] {
				_, _ = server.Write(b[:min(size, len(b))])
			}
		}()
		read := make([]byte, len(stream))
		if _, err := io.ReadFull(c, read); err != nil || !bytes.Equal(read, stream) {
			t.Errorf("in pieces of %d: read %q, %v", size, read, err)
		}
		want := []answer{{}, {op: 11, zxid: 9}, {op: opGet, zxid: 10, code: -101}, {op: opGet, zxid: 11}}
		if len(got) != len(want) {
			t.Fatalf("in pieces of %d: %+v", size, got)
		}
		for i, request := range []int{0, 2, 1, 3} {
			at := got[i].sent
			if at.After(sent[request]) || request > 0 && at.Before(sent[request-1]) {
				t.Errorf("in pieces of %d: answer %d is of another request", size, i)
			}
			got[i].sent, got[i].length = time.Time{}, 0
			if got[i] != want[i] {
				t.Errorf("in pieces of %d: answer %d: %+v, want %+v", size, i, got[i], want[i])
			}
		}
		_, _ = client.Close(), server.Close()
	}
}

// Watches are set again as of what they have not missed by then, whatever go-zookeeper says. Its own buffer stays as it
// is.
func TestWatchesAreSetAsOfWhatWasHeard(t *testing.T) {
	client, server := net.Pipe()
	defer server.Close()
	defer client.Close()
	heard := int64(0) // as it was when the connection began
	c := &framedConn{
		Conn: client, answered: func(answer) {}, seen: 50, watched: func() int64 { return heard }, begun: true,
	}
	heard = 5
	request := requestFrame(7, zkproto.OpSetWatches, binary.BigEndian.AppendUint64(nil, 99)...)
	original := bytes.Clone(request)
	go func() { _, _ = c.Write(request) }()
	got, err := readFrame(server)
	if err != nil || binary.BigEndian.Uint64(got[8:]) != 5 || !bytes.Equal(request, original) {
		t.Errorf("sent %v, %v; the request is now %v", got, err, request)
	}
}

// An answered request is forgotten with all that it refers to. Its answer may have been a list of thousands of names,
// and the connection's next request may be minutes away.
func TestAnsweredRequestsAreForgotten(t *testing.T) {
	c := &framedConn{answered: func(answer) {}}
	c.sent(sentRequest{xid: 1, direct: &direct{}}, sentRequest{xid: 2, direct: &direct{}})
	for xid := range int32(2) {
		c.note(xid+1, 0, 0)
	}
	for i, r := range c.pending[:2] {
		if r.direct != nil {
			t.Errorf("the connection still refers to answered request %d", i+1)
		}
	}
}
