package broken

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"testing"
	"testing/iotest"
	"time"
)

// A connReading is a connection that has only what there is to read.
type connReading struct {
	net.Conn
	io.Reader
}

func (c connReading) Read(p []byte) (int, error) { return c.Reader.Read(p) }

// What the server grants is known however the answer comes, and nothing of it is lost.
func TestGreeted(t *testing.T) {
	answer := binary.BigEndian.AppendUint32(nil, 36)
	answer = binary.BigEndian.AppendUint32(answer, 0)
	answer = binary.BigEndian.AppendUint32(answer, 1500)
	answer = binary.BigEndian.AppendUint64(answer, 0x300000000000abc)
	answer = append(answer, "and the password, and what comes after it"...)
	for name, r := range map[string]io.Reader{"at once": bytes.NewReader(answer), "byte by byte": iotest.OneByteReader(bytes.NewReader(answer))} {
		g := &greeted{Conn: connReading{Reader: r}}
		if session, timeout := g.granted(); session != 0 || timeout != 0 {
			t.Errorf("%s: granted %x for %s before it was", name, session, timeout)
		}
		got, err := io.ReadAll(g)
		if err != nil || !bytes.Equal(got, answer) {
			t.Errorf("%s: read %q, %v", name, got, err)
		}
		if session, timeout := g.granted(); session != 0x300000000000abc || timeout != 1500*time.Millisecond {
			t.Errorf("%s: granted %x for %s", name, session, timeout)
		}
	}
}
