package zksession

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"locklab/recipes/zkproto"
)

// A diary has the requests that a scripted server gets, in order, for each connection.
type diary struct {
	mu   sync.Mutex
	days [][]int32
}

// note takes note of a request on the n-th connection, from 1.
func (d *diary) note(n int, op int32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for len(d.days) < n {
		d.days = append(d.days, nil)
	}
	d.days[n-1] = append(d.days[n-1], op)
}

// on returns the requests on the n-th connection so far.
func (d *diary) on(n int) []int32 {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.days) < n {
		return nil
	}
	return slices.Clone(d.days[n-1])
}

// Credentials are the first requests on each connection: before the requests that waited for it, and before the watches
// are set again.
func TestCredentialsFirst(t *testing.T) {
	skipUnderRace(t)
	var d diary
	s := &scripted{}
	s.answer = func(op int32, _ []byte) (int32, []byte, bool) {
		n, _ := s.counts()
		d.note(n, op)
		if op == zkproto.OpMulti && n == 1 {
			return 0, nil, false // breaks the connection
		}
		return 0, make([]byte, 4+68), true // no data, and a stat; more than other answers have
	}
	serve(t, s)
	c := toScripted(t, s, Config{Credentials: []Credential{Digest("a", "1"), {scheme: "own", auth: []byte("x")}}})
	if _, _, err := c.GetW(within(t), "/watched", func(Event) {}); err != nil {
		t.Fatal(err)
	}
	again := c.Reconnected()
	if err := c.Sync(within(t), "/"); !errors.Is(err, ErrConnectionLoss) {
		t.Fatalf("the request that broke the connection: %v", err)
	}
	select {
	case <-again:
	case <-within(t).Done():
		t.Fatal("no reconnect")
	}
	if _, _, err := c.Get(within(t), "/"); err != nil {
		t.Fatal(err)
	}
	if got, want := d.on(1)[:3], []int32{zkproto.OpAuth, zkproto.OpAuth, opGet}; !slices.Equal(got, want) {
		t.Errorf("the first connection began with %v, want %v", got, want)
	}
	// go-zookeeper sets the watches again from a goroutine of its own, so they may arrive after the read.
	patience := within(t)
	for !slices.Contains(d.on(2), zkproto.OpSetWatches) {
		select {
		case <-patience.Done():
			t.Fatalf("the second connection had %v: the watch was not set again", d.on(2))
		case <-time.After(time.Millisecond):
		}
	}
	later := d.on(2)
	if !slices.Equal(later[:2], []int32{zkproto.OpAuth, zkproto.OpAuth}) || slices.Contains(later[2:], zkproto.OpAuth) {
		t.Errorf("the second connection had %v; want the credentials, then the rest", later)
	}
}

// A credential that is refused fails Connect at once, although the server can be reached.
func TestCredentialRefused(t *testing.T) {
	s := &scripted{}
	var refused bool // by the one connection's goroutine
	s.answer = func(op int32, _ []byte) (int32, []byte, bool) {
		if refused {
			return 0, nil, false // as a real server, which closes the connection
		}
		refused = true
		return zkproto.CodeAuthFailed, nil, true
	}
	serve(t, s)
	_, err := Connect(within(t), Config{Servers: []string{s.address}, Credentials: []Credential{Digest("a", "geheim")}})
	if !errors.Is(err, ErrAuthFailed) || !strings.Contains(err.Error(), s.address) {
		t.Errorf("got %v, want ErrAuthFailed with the server", err)
	}
	if err == nil || !strings.Contains(err.Error(), "no provider for the scheme") {
		t.Errorf("got %v, want it in words", err)
	}
	if strings.Contains(fmt.Sprint(err), "geheim") {
		t.Errorf("the error shows the password: %v", err)
	}
	if connects, _ := s.counts(); connects != 1 {
		t.Errorf("the client connected %d times, want once", connects)
	}
}

// A credential that is refused after a reconnect, or a server that wants SASL, ends the session with an error of its
// own. The client does not try again.
func TestCredentialRefusedLater(t *testing.T) {
	const wantsSASL = -124
	for _, x := range []struct {
		name     string
		code     int32
		op       int32
		connects int
	}{{"credential", zkproto.CodeAuthFailed, zkproto.OpAuth, 2}, {"SASL", wantsSASL, opGet, 1}} {
		t.Run(x.name, func(t *testing.T) {
			s := &scripted{}
			s.answer = func(op int32, _ []byte) (int32, []byte, bool) {
				n, _ := s.counts()
				switch {
				case n == x.connects && op == x.op:
					return x.code, nil, true
				case op == zkproto.OpMulti:
					return 0, nil, false // breaks the connection
				}
				return 0, make([]byte, 4), true
			}
			serve(t, s)
			ended := make(chan StateChange, 1)
			c := toScripted(t, s, Config{Credentials: []Credential{Digest("a", "1")}, OnState: func(ch StateChange) {
				if ch.State == Closed {
					ended <- ch
				}
			}})
			if x.connects == 2 {
				skipUnderRace(t)
				if err := c.Sync(within(t), "/"); !errors.Is(err, ErrConnectionLoss) {
					t.Fatalf("the request that broke the connection: %v", err)
				}
			}
			if _, _, err := c.Get(within(t), "/"); !errors.Is(err, ErrAuthFailed) {
				t.Errorf("a request got %v, want ErrAuthFailed", err)
			}
			select {
			case ch := <-ended:
				if !errors.Is(ch.Err, ErrAuthFailed) || !errors.Is(c.Err(), ErrAuthFailed) {
					t.Errorf("the session ended with %v, %v", ch.Err, c.Err())
				}
			case <-within(t).Done():
				t.Fatal("the session did not end")
			}
			<-c.gone
			if connects, _ := s.counts(); connects != x.connects {
				t.Errorf("the client connected %d times, want %d", connects, x.connects)
			}
		})
	}
}

// The secret of a credential does not get into what is printed of a configuration.
func TestCredentialHidden(t *testing.T) {
	cfg := Config{Credentials: []Credential{Digest("alice", "geheim")}}
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%x", "%q"} {
		got := fmt.Sprintf(format, cfg.Credentials)
		if strings.Contains(got, "geheim") || strings.Contains(got, fmt.Sprintf("%x", "geheim")) {
			t.Errorf("%s prints %s", format, got)
		}
	}
}

// Connect refuses credentials that cannot be sent, before it dials.
func TestCredentialChecked(t *testing.T) {
	for want, cred := range map[string]Credential{
		"no scheme": {},
		"has 4096":  {scheme: "own", auth: make([]byte, 4093)},
		"a colon":   Digest("a:b", "c"),
	} {
		_, err := Connect(within(t), Config{Servers: []string{"127.0.0.1:1"}, Credentials: []Credential{cred}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	plain := PlainConfig{Config: Config{Servers: []string{"127.0.0.1:1"}, ACL: CreatorAll}}
	if _, err := ConnectPlain(within(t), plain); err == nil {
		t.Error("a plain connection ignores an ACL")
	}
}
