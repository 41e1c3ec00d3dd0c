package serve

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"locklab/ensembles/reach"
)

// A relay passes TCP connections from a port of the host's loopback on to a server and holds back the data in each
// direction by the delays in force, or by half of its own round trip. It adds latency where the kernel has no netem.
// Ends and resets of connections pass as such, in order with the data.
type relay struct {
	relayKey
	listener net.Listener
	delays   *delays
	seed     uint64
	made     atomic.Uint64 // connections
	end      context.CancelFunc
	ended    <-chan struct{}
	open     sync.WaitGroup
}

// The data that waits in a relay is bounded. A sender that is faster is held back as by a full socket.
const (
	relayChunk  = 4 << 10
	relayChunks = 64
)

func newRelay(ctx context.Context, key relayKey, d *delays, seed uint64) (*relay, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	life, end := context.WithCancel(context.Background())
	r := &relay{relayKey: key, listener: l, delays: d, seed: seed, end: end, ended: life.Done()}
	r.open.Go(func() { reach.Relay(life, l, r.pass) })
	return r, nil
}

func (r *relay) address() netip.AddrPort { return r.listener.Addr().(*net.TCPAddr).AddrPort() }

// close ends the relay and all its connections, and waits for them.
func (r *relay) close() {
	r.end()
	r.open.Wait()
}

// relayDial is how long a relay waits for a server. The client sees a connection meanwhile, so this is how long a
// client would wait itself (go-zookeeper's default).
const relayDial = time.Second

// pass connects a client to the server. If the server cannot be reached, the client gets a reset.
func (r *relay) pass(ctx context.Context, conn net.Conn) {
	client, stream := conn.(*net.TCPConn), 2*(r.made.Add(1)-1)
	once, cancel := context.WithTimeout(ctx, relayDial)
	defer cancel()
	var d net.Dialer
	c, err := d.DialContext(once, "tcp4", r.to.String())
	if err != nil {
		_ = client.SetLinger(0)
		return
	}
	defer reach.Until(ctx, c)()
	server := c.(*net.TCPConn)
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
		if !r.wait(c) {
			abortBoth(dst, src)
			break
		}
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

// wait returns when a chunk may pass, and whether it ever may: what a far relay holds back when it ends is lost.
func (r *relay) wait(c chunk) bool {
	if !r.far {
		r.delays.wait(r.to.Addr(), c.at, c.draw)
		return true
	}
	if left := time.Until(c.at.Add((r.roundTrip + 1) / 2)); left > 0 {
		select {
		case <-time.After(left):
		case <-r.ended:
			return false
		}
	}
	return true
}

// abortBoth resets two connections, one of which broke.
func abortBoth(a, b *net.TCPConn) {
	for _, c := range []*net.TCPConn{a, b} {
		_ = c.SetLinger(0)
		c.Close()
	}
}
