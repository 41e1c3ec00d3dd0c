package wire

import (
	"net"
	"time"

	"locklab/recipes/zkproto"
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
	if !kill(g, server) {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.killed = g.Session
	if w.greeted != nil && w.granted.Session == g.Session {
		_ = w.greeted.Close()
	}
	return true
}

// kill makes one attempt.
func kill(g zkproto.Grant, server string) bool {
	conn, err := net.DialTimeout("tcp", server, killCap)
	if err != nil {
		return false
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(killCap))
	return zkproto.End(conn, g) == nil
}

// killCap bounds one attempt to kill a session. If a server has two requests at once to take over the same session,
// ours and the client's, it may forget one of them.
const killCap = 2 * time.Second
