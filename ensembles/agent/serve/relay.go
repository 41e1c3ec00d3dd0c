package serve

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"time"
)

// A relay passes TCP connections from a port of the host's loopback on to a server and holds back the data in each
// direction by the delays in force. It adds latency where the kernel has no netem. Ends and resets of connections pass
// as such, in order with the data.
type relay struct {
	to       netip.AddrPort
	listener *net.TCPListener
	delays   *delays
	seed     uint64
	ctx      context.Context // for dialling; ends with the relay
	cancel   context.CancelFunc
	wg       sync.WaitGroup

	mu    sync.Mutex
	conns map[*net.TCPConn]struct{} // nil once closed
	made  uint64
}

// The data that waits in a relay is bounded. A sender that is faster is held back as by a full socket.
const (
	relayChunk  = 4 << 10
	relayChunks = 64
)

func newRelay(ctx context.Context, to netip.AddrPort, d *delays, seed uint64) (*relay, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &relay{to: to, listener: l.(*net.TCPListener), delays: d, seed: seed, conns: map[*net.TCPConn]struct{}{}}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.wg.Go(r.serve)
	return r, nil
}

func (r *relay) address() netip.AddrPort { return r.listener.Addr().(*net.TCPAddr).AddrPort() }

// close ends the relay and all its connections, and waits for them.
func (r *relay) close() {
	r.listener.Close()
	r.cancel()
	r.mu.Lock()
	conns := r.conns
	r.conns = nil
	r.mu.Unlock()
	for c := range conns {
		c.Close()
	}
	r.wg.Wait()
}

func (r *relay) serve() {
	for {
		c, err := r.listener.AcceptTCP()
		if err != nil {
			return
		}
		if r.keep(c) {
			r.wg.Go(func() { r.pass(c) })
		}
	}
}

// keep registers a connection, to be closed with the relay. If the relay is closed, keep closes the connection.
func (r *relay) keep(c *net.TCPConn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.conns == nil {
		c.Close()
		return false
	}
	r.conns[c] = struct{}{}
	return true
}

func (r *relay) forget(c *net.TCPConn) {
	c.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.conns, c)
}

// relayDial is how long a relay waits for a server. The client sees a connection meanwhile, so this is how long a
// client would wait itself (go-zookeeper's default).
const relayDial = time.Second

// pass connects a client to the server. If the server cannot be reached, the client gets a reset.
func (r *relay) pass(client *net.TCPConn) {
	defer r.forget(client)
	ctx, cancel := context.WithTimeout(r.ctx, relayDial)
	defer cancel()
	r.mu.Lock()
	stream := 2 * r.made
	r.made++
	r.mu.Unlock()
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp4", r.to.String())
	if err != nil {
		_ = client.SetLinger(0)
		return
	}
	server := c.(*net.TCPConn)
	if !r.keep(server) {
		return
	}
	defer r.forget(server)
	var wg sync.WaitGroup
	wg.Go(func() { r.pump(server, client, stream) })
	wg.Go(func() { r.pump(client, server, stream+1) })
	wg.Wait()
}

// A chunk is data that was read at once, or the end of the data.
type chunk struct {
	data []byte
	end  error // io.EOF, or why the connection broke
	at   time.Time
	draw float64 // its share of the jitter, in [-1, 1)
}

// pump passes data from src to dst until the end of the data has passed. Bytes keep their order, as in TCP: a byte that
// is delayed longer delays those behind it.
func (r *relay) pump(dst, src *net.TCPConn, stream uint64) {
	queue := make(chan chunk, relayChunks)
	gone := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		rng := rand.New(rand.NewPCG(r.seed, stream))
		defer close(queue)
		for {
			buf := make([]byte, relayChunk)
			n, err := src.Read(buf)
			draw := 2*rng.Float64() - 1
			for _, c := range []chunk{{data: buf[:n]}, {end: err}} {
				if len(c.data) == 0 && c.end == nil {
					continue
				}
				c.at, c.draw = time.Now(), draw
				select {
				case queue <- c:
				case <-gone:
					return
				}
			}
			if err != nil {
				return
			}
		}
	})
	for c := range queue {
		r.delays.wait(r.to.Addr(), c.at, c.draw)
		if c.end != nil {
			if errors.Is(c.end, io.EOF) {
				_ = dst.CloseWrite()
			} else {
				abortBoth(dst, src)
			}
			break
		}
		if _, err := dst.Write(c.data); err != nil {
			abortBoth(dst, src)
			break
		}
	}
	close(gone)
	wg.Wait()
}

// abortBoth resets two connections, one of which broke.
func abortBoth(a, b *net.TCPConn) {
	for _, c := range []*net.TCPConn{a, b} {
		_ = c.SetLinger(0)
		c.Close()
	}
}
