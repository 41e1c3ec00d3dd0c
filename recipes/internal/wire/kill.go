package wire

import (
	"encoding/binary"
	"net"
	"time"
)

// Kill ends the session at the service, as an administrator would: a second connection takes it over and closes it.
// It returns false if the client took the session back in between, and should then be called again.
//
// A server that lets the client take the session back just while it is closed keeps that connection, and answers its
// pings for ever: a commit of closeSession closes the session's connection only at servers other than the one that was
// asked. Kill breaks such a connection, so that the client hears of the end.
func (w *Wire) Kill(server string) bool {
	w.mu.Lock()
	g := w.granted
	w.mu.Unlock()
	if !g.kill(server) {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.killed = g.session
	if w.greeted != nil && w.granted.session == g.session {
		_ = w.greeted.Close()
	}
	return true
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
