package wire

import (
	"bytes"
	"encoding/binary"
)

// passwordLength is the length of a session's password.
const passwordLength = 16

// Disown makes the servers refuse the session from the next connect on, by a wrong password. The client is told that
// its session has expired, while the service keeps it until its timeout.
func (w *Wire) Disown() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.disowned = w.granted
}

// Forget makes the servers take the session's next connects for those of a new client, so that they answer with another
// session's id. The service keeps the session until its timeout.
func (w *Wire) Forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.forgotten = w.granted
}

// KillDisowned ends the disowned session at the service as [Wire.Kill] does, whichever session the client has by
// then.
func (w *Wire) KillDisowned(server string) bool {
	w.mu.Lock()
	g := w.disowned
	w.mu.Unlock()
	return g.kill(server)
}

// connecting returns a connect request as it should be sent. It changes every request that names the disowned or the
// forgotten session, because a client whose refusal is lost asks again, and no other request.
func (w *Wire) connecting(request []byte) []byte {
	const session, password = 4 + 4 + 8 + 4, 4 + 4 + 8 + 4 + 8 + 4
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(request) <= password {
		return request
	}
	switch id := int64(binary.BigEndian.Uint64(request[session:])); {
	case id == 0:
	case id == w.disowned.session:
		request = bytes.Clone(request)
		request[password] ^= 0xff
	case id == w.forgotten.session:
		request = bytes.Clone(request)
		clear(request[session : session+8])
		clear(request[password:min(len(request), password+passwordLength)])
	}
	return request
}
