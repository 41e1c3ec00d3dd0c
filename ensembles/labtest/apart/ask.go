package apart

import (
	"io"
	"net"
	"testing"
	"time"
)

// askCap limits the time for one answer.
const askCap = 30 * time.Second

// Ask sends a four-letter word to a server and returns the answer.
func Ask(t testing.TB, server, word string) string {
	t.Helper()
	conn, err := net.DialTimeout("tcp", server, askCap)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(askCap))
	if _, err := io.WriteString(conn, word); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	return string(answer)
}
