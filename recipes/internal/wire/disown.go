package wire

import (
	"bytes"
	"encoding/binary"

	"locklab/recipes/zkproto"
)

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
	return kill(g, server)
}

// connecting returns a connect request as it should be sent. It changes every request that names the disowned or the
// forgotten session, because a client whose refusal is lost asks again, and no other request.
func (w *Wire) connecting(request []byte) []byte {
	const session, password = zkproto.HelloSession, zkproto.HelloPassword
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(request) <= password {
		return request
	}
	switch id := int64(binary.BigEndian.Uint64(request[session:])); {
	case id == 0:
	case id == w.disowned.Session:
		request = bytes.Clone(request)
		request[password] ^= 0xff
	case id == w.forgotten.Session:
		request = bytes.Clone(request)
		clear(request[session : session+8])
		clear(request[password : len(request)-1]) // and not whether it may be read-only
	}
	return request
}
