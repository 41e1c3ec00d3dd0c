package wire

import (
	"encoding/binary"
	"net"
	"time"
)

// Kill ends the session at the service, as an administrator would: a second connection takes it over and closes it.
// It returns false if the client took the session back in between, and should then be called again.
func (w *Wire) Kill(server string) bool {
	w.mu.Lock()
	g := w.granted
	w.mu.Unlock()
	return g.kill(server)
}

func (g grant) kill(server string) bool {
	conn, err := net.DialTimeout("tcp", server, killCap)
	if err != nil {
		return false
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(killCap))
	connect := make([]byte, 4+4+8+4+8+4, 64)
	binary.BigEndian.PutUint32(connect[16:], uint32(g.timeout.Milliseconds()))
	binary.BigEndian.PutUint64(connect[20:], uint64(g.session))
	binary.BigEndian.PutUint32(connect[28:], uint32(len(g.password)))
	connect = append(connect, g.password...)
	binary.BigEndian.PutUint32(connect, uint32(len(connect)-4))
	if _, err := conn.Write(connect); err != nil {
		return false
	}
	reply, err := readFrame(conn)
	if err != nil {
		return false
	}
	if got, ok := parseGrant(reply); !ok || got.session != g.session {
		return true // the session no longer exists
	}
	code := OpClose
	closing := make([]byte, 12)
	binary.BigEndian.PutUint32(closing, 8)
	binary.BigEndian.PutUint32(closing[4:], 1)
	binary.BigEndian.PutUint32(closing[8:], uint32(code))
	if _, err := conn.Write(closing); err != nil {
		return false
	}
	reply, err = readFrame(conn)
	return err == nil && binary.BigEndian.Uint32(reply[16:]) == 0
}

// killCap bounds one attempt to kill a session. If a server has two requests at once to take over the same session,
// ours and the client's, it may forget one of them.
const killCap = 2 * time.Second
