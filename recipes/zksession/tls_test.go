package zksession

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// selfSigned returns a certificate for 127.0.0.1, and the roots that trust it.
func selfSigned(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(time.Hour),
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, roots
}

// inFrontOf starts a listener that takes TLS connections and passes what they say to a server. It returns its address.
// It ends with the test.
func inFrontOf(t *testing.T, server string, cert tls.Certificate) (address string) {
	t.Helper()
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{cert}})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			outside, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer outside.Close()
				inside, err := net.Dial("tcp", server)
				if err != nil {
					return
				}
				defer inside.Close()
				wg.Go(func() {
					_, _ = io.Copy(inside, outside)
					_ = inside.Close() // ends the other direction
				})
				_, _ = io.Copy(outside, inside)
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		wg.Wait()
	})
	return l.Addr().String()
}

// A session on the real ensemble works over TLS, with its credentials.
func TestRealTLS(t *testing.T) {
	cert, roots := selfSigned(t)
	var addresses []string
	for _, server := range ensemble.Servers(t) {
		addresses = append(addresses, inFrontOf(t, server, cert))
	}
	trusting := &tls.Dialer{Config: &tls.Config{RootCAs: roots}}
	c, err := Connect(within(t), Config{Servers: addresses, Dial: trusting.DialContext, ACL: CreatorAll,
		Credentials: []Credential{Digest("alice", "in wonderland")}})
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, c.Close)
	node, large := freshPath(), strings.Repeat("x", 100<<10)
	if _, err := c.Create(within(t), node, []byte(large), Ephemeral); err != nil {
		t.Fatal(err)
	}
	if data, _, err := c.Get(within(t), node); err != nil || string(data) != large {
		t.Errorf("got %d bytes, %v; want %d", len(data), err, len(large))
	}
	if _, _, err := connected(t, Config{}).Get(within(t), node); !errors.Is(err, ErrNoAuth) {
		t.Errorf("a session without the credential: got %v, want ErrNoAuth", err)
	}
}

// A session works over TLS, by the dialer, and its requests need not fit into one record. A server that the client does
// not trust is not connected to, and Connect says why.
func TestTLS(t *testing.T) {
	large := strings.Repeat("x", 100<<10)
	s := serve(t, &scripted{answer: func(int32, []byte) (int32, []byte, bool) {
		return 0, append([]byte{0, 1, 0x90, 0}, append([]byte(large), make([]byte, 68)...)...), true // data, and a stat
	}})
	cert, roots := selfSigned(t)
	address := inFrontOf(t, s.address, cert)
	trusting := &tls.Dialer{Config: &tls.Config{RootCAs: roots}}
	c, err := Connect(within(t), Config{Servers: []string{address}, Timeout: 20 * time.Second, Dial: trusting.DialContext})
	if err != nil {
		t.Fatal(err)
	}
	if data, _, err := c.Get(within(t), "/"); err != nil || string(data) != large {
		t.Errorf("got %d bytes, %v; want %d", len(data), err, len(large))
	}
	if created, err := c.Create(within(t), "/a", []byte(large), Ephemeral); err != nil || created != large {
		t.Errorf("a large request: %d bytes, %v", len(created), err)
	}
	if err := c.Close(within(t)); err != nil {
		t.Errorf("close: %v", err)
	}

	strange := &tls.Dialer{Config: &tls.Config{RootCAs: x509.NewCertPool()}}
	tried := make(chan error, 1)
	ctx, cancel := context.WithCancel(within(t))
	defer cancel()
	_, err = Connect(ctx, Config{Servers: []string{address},
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := strange.DialContext(ctx, network, address)
			select {
			case tried <- err:
			default:
				cancel() // the first failure has been noted
			}
			return conn, err
		}})
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); !ok {
		t.Errorf("a server that is not trusted: got %v, want an x509.UnknownAuthorityError", err)
	}
}
