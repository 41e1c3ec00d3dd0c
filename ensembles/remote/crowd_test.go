package remote

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
)

// listen returns a listener that is closed with the test, and its address.
func listen(t *testing.T) (net.Listener, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l, l.Addr().String()
}

// A trial finds how many connections a server takes from one address.
func TestCrowd(t *testing.T) {
	const most = 10
	for n, want := range map[int]int{1: 1, 4: 4, most: most, 25: most} {
		l, server := listen(t)
		go func() {
			for taken := 0; ; taken++ {
				c, err := l.Accept()
				if err != nil {
					return
				}
				if taken >= most { // as a server does, before it accepts the next
					c.Close()
					continue
				}
				go func() {
					defer c.Close()
					grants("follower")(c)
				}()
			}
		}()
		got, err := (&Access{}).Crowd(t.Context(), server, n)
		if got != want || err != nil {
			t.Errorf("of %d connections %d are taken, want %d (%v)", n, got, want, err)
		}
	}
	// Nothing is known of a server that accepts and never answers.
	_, server := listen(t)
	_, err := (&Access{}).Crowd(t.Context(), server, 3)
	if !errors.Is(err, ErrUnusable) || !strings.Contains(fmt.Sprint(err), "--clients-per-session") {
		t.Errorf("a server that does not answer: %v", err)
	}
}
