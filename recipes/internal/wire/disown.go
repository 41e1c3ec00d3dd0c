package wire

import "encoding/binary"

// Disown makes the servers refuse the session from the next connect on, by a wrong password. The client is told that
// its session has expired, while the service keeps it until its timeout.
func (w *Wire) Disown() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.disowned = w.granted
}

// KillDisowned ends the disowned session at the service as [Wire.Kill] does, whichever session the client has by
// then.
func (w *Wire) KillDisowned(server string) bool {
	w.mu.Lock()
	g := w.disowned
	w.mu.Unlock()
	return g.kill(server)
}

// connecting returns a connect request as it should be sent. It changes every request that names the disowned
// session, because a client whose refusal is lost asks again, and no other request.
func (w *Wire) connecting(request []byte) []byte {
	const session, password = 4 + 4 + 8 + 4, 4 + 4 + 8 + 4 + 8 + 4
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.disowned.session == 0 || len(request) <= password ||
		int64(binary.BigEndian.Uint64(request[session:])) != w.disowned.session {
		return request
	}
	request = append([]byte(nil), request...)
	request[password] ^= 0xff
	return request
}
