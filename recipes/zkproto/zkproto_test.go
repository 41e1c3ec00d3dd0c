package zkproto

import (
	"bytes"
	"net"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/google/go-cmp/cmp"
)

// What is written is read back, and a record that ends too early, or has a negative length, is refused.
func TestConnect(t *testing.T) {
	hello := Hello{Seen: 7, Timeout: 2 * time.Second, Session: 0x1234, Password: []byte("0123456789abcdef")}
	got, err := ParseHello(hello.body())
	if diff := cmp.Diff(hello, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	grant := Grant{Session: 0x1234, Timeout: 4 * time.Second, Password: []byte("0123456789abcdef")}
	body, err := ReadFrame(bytes.NewReader(grant.Frame()), 100)
	if err != nil {
		t.Fatal(err)
	}
	if back, err := ParseGrant(body); err != nil || cmp.Diff(grant, back) != "" {
		t.Errorf("%+v, %v", back, err)
	}
	if back, err := ParseGrant(append(body, 1)); err != nil || !back.ReadOnly {
		t.Errorf("read-only: %+v, %v", back, err)
	}
	for n := range body {
		if _, err := ParseGrant(body[:n]); err == nil {
			t.Errorf("%d bytes were accepted", n)
		}
	}
	copy(body[16:], []byte{0xff, 0xff, 0xff, 0xff})
	if _, err := ParseGrant(body); err == nil {
		t.Error("a negative length was accepted")
	}
	if _, err := ReadFrame(bytes.NewReader(grant.Frame()), 10); err == nil {
		t.Error("a frame beyond the limit was read")
	}
}

// Values of a record are read back as they were written.
func TestRecord(t *testing.T) {
	acl := []zk.ACL{{Perms: 31, Scheme: "world", ID: "anyone"}, {Perms: 1, Scheme: "digest", ID: "a:b"}}
	e := new(Encoder).Int32(-1).Int64(1 << 40).Bool(true).Bool(false).Bytes(nil).Bytes([]byte{}).Text("päth").ACL(acl)
	d := &Decoder{B: e.B}
	if d.Int32() != -1 || d.Int64() != 1<<40 || !d.Bool() || d.Bool() || d.Bytes() != nil || d.Bytes() == nil ||
		d.Text() != "päth" || cmp.Diff(acl, List(d, d.ACL)) != "" || d.Err != nil || len(d.B) != 0 {
		t.Errorf("%x is read otherwise: %v", e.B, d.Err)
	}
	if d.Int64() != 0 || d.Err == nil {
		t.Error("what is not there was read")
	}
	if n := len(new(Encoder).Stat(zk.Stat{}).B); n != StatLength {
		t.Errorf("a stat has %d bytes", n)
	}
}

// A session is ended over a connection of its own. It is no error that it exists no more, and one that the server does
// not close it.
func TestEnd(t *testing.T) {
	for name, c := range map[string]struct {
		granted int64
		code    int32
		ok      bool
	}{"ended": {7, CodeOK, true}, "gone": {0, CodeOK, true}, "refused": {7, CodeSessionExpired, false}} {
		client, server := net.Pipe()
		asked := make(chan Hello, 1)
		go func() {
			defer server.Close()
			body, _ := ReadFrame(server, 100)
			h, _ := ParseHello(body)
			asked <- h
			_, _ = server.Write(Grant{Session: c.granted, Timeout: time.Second, Password: make([]byte, 16)}.Frame())
			if body, err := ReadFrame(server, 100); err == nil && len(body) == 8 {
				_, _ = server.Write(Frame(new(Encoder).Int32(1).Int64(9).Int32(c.code).B))
			}
		}()
		err := End(client, Grant{Session: 7, Timeout: time.Second, Password: []byte("0123456789abcdef")})
		if h := <-asked; (err == nil) != c.ok || h.Session != 7 || string(h.Password) != "0123456789abcdef" {
			t.Errorf("%s: %v, after %+v", name, err, h)
		}
		_ = client.Close()
	}
}
