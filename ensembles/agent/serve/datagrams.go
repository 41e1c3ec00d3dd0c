package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"locklab/ensembles/agent"
	"locklab/ensembles/reach"
	"locklab/harness/history"
)

// datagrams counts the datagrams that arrive on a host, so that each direction of a link can be checked by itself. It
// counts only datagrams with an id that it has given out.
type datagrams struct {
	conn  *net.UDPConn
	raw   syscall.RawConn
	clock history.Clock

	mu    sync.Mutex
	next  int
	order []string
	heard map[string]agent.Heard
}

// maxExpected is how many expectations are kept. The oldest are dropped.
const maxExpected = 1024

// idEnds ends the id in a datagram. The rest of the datagram is padding.
const idEnds = "\n"

// receiveBuffer is how many bytes may wait in the kernel to be counted: half a second of datagrams from all hosts of a
// lab at once, on a machine that is too busy to count any meanwhile. A datagram that finds the buffer full would be
// taken for one that was lost on the way.
const receiveBuffer = 4 << 20

func listenDatagrams(ctx context.Context, address string, clock history.Clock) (*datagrams, error) {
	c, err := (&net.ListenConfig{}).ListenPacket(ctx, "udp4", address)
	if err != nil {
		return nil, fmt.Errorf("listen for datagrams: %w", err)
	}
	d := &datagrams{conn: c.(*net.UDPConn), clock: clock, heard: map[string]agent.Heard{}}
	if d.raw, err = d.conn.SyscallConn(); err == nil {
		err = d.conn.SetReadBuffer(receiveBuffer) // the kernel may silently give less
	}
	if err != nil {
		d.conn.Close()
		return nil, fmt.Errorf("listen for datagrams: %w", err)
	}
	_ = d.raw.Control(func(fd uintptr) {
		// A process with CAP_NET_ADMIN may exceed the machine's limit (net.core.rmem_max). Otherwise the size that the
		// kernel gave must do.
		_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, receiveBuffer)
	})
	return d, nil
}

// serve counts until the connection is closed.
func (d *datagrams) serve() {
	_ = d.raw.Read(func(fd uintptr) bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.drain(int(fd))
		return false // wait for more
	})
}

// drain counts what has arrived, and does not wait. d.mu is held, so that a datagram that was read has also been
// counted.
func (d *datagrams) drain(fd int) {
	var buf [64]byte // enough for the id; the kernel cuts off the rest
	for {
		n, _, err := unix.Recvfrom(fd, buf[:], unix.MSG_DONTWAIT)
		if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EBADF) {
			return
		}
		if err != nil {
			continue // the call was interrupted, or an ICMP error came for a datagram that was sent
		}
		if id, _, ok := strings.Cut(string(buf[:n]), idEnds); ok {
			d.count(id)
		}
	}
}

// count counts a datagram. d.mu is held.
func (d *datagrams) count(id string) {
	at := d.clock.Now()
	h, ok := d.heard[id]
	if !ok {
		return
	}
	if h.Count == 0 {
		h.First = at
	}
	h.Count++
	h.Last = at
	d.heard[id] = h
}

func (d *datagrams) expect() agent.Expectation {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.next++
	id := fmt.Sprint(d.next)
	if len(d.order) == maxExpected {
		delete(d.heard, d.order[0])
		d.order = d.order[1:]
	}
	d.order = append(d.order, id)
	d.heard[id] = agent.Heard{}
	return agent.Expectation{ID: id}
}

// result returns what has arrived by now.
func (d *datagrams) result(id string) (agent.Heard, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.raw.Control(func(fd uintptr) { d.drain(int(fd)) }); err != nil {
		return agent.Heard{}, fmt.Errorf("datagrams: %w", err)
	}
	h, ok := d.heard[id]
	if !ok {
		return agent.Heard{}, fmt.Errorf("datagrams: the id %q was not given out, or was dropped since", id)
	}
	return h, nil
}

// send returns when the last datagram was sent. A datagram that a rule of this host stops counts as sent.
func (d *datagrams) send(ctx context.Context, s agent.Datagrams) (agent.Stamp, error) {
	if s.Count < 1 || s.Count > 1<<20 || s.Size < 0 || s.Size > 1400 || s.ID == "" || len(s.ID) > 32 {
		return agent.Stamp{}, fmt.Errorf("datagrams: cannot send %+v", s)
	}
	payload := []byte(s.ID + idEnds)
	payload = append(payload, make([]byte, max(0, s.Size-len(payload)))...)
	begun := time.Now()
	for i := range s.Count {
		// If it is late, it catches up without waiting.
		if wait := time.Until(begun.Add(time.Duration(i) * s.Every)); wait > 0 {
			t := time.NewTimer(wait)
			select {
			case <-t.C:
			case <-ctx.Done():
				t.Stop()
				return agent.Stamp{}, context.Cause(ctx)
			}
		}
		if _, err := d.conn.WriteToUDPAddrPort(payload, s.To); err != nil && !errors.Is(err, syscall.EPERM) {
			return agent.Stamp{}, fmt.Errorf("datagrams: %w", err)
		}
	}
	return agent.Stamp{At: d.clock.Now()}, nil
}

// probe dials all addresses at once.
func probe(ctx context.Context, p agent.Probe) (agent.ProbeResult, error) {
	if p.Timeout <= 0 {
		// With no time nothing can be reached, so every link would look cut.
		return agent.ProbeResult{}, errors.New("probe: no timeout")
	}
	ctx, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	res := agent.ProbeResult{Errors: make([]string, len(p.Addresses)), Took: make([]time.Duration, len(p.Addresses))}
	var wg sync.WaitGroup
	for i, addr := range p.Addresses {
		wg.Go(func() {
			begun := time.Now()
			err := dialOnce(ctx, addr, p.Ask)
			res.Took[i] = time.Since(begun)
			if err != nil {
				res.Errors[i] = err.Error()
			}
		})
	}
	wg.Wait()
	return res, nil
}

// dialOnce makes a connection. With ask, it asks ruok on it and waits for the ZooKeeper server's answer.
func dialOnce(ctx context.Context, addr netip.AddrPort, ask bool) error {
	dial := func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", addr.String())
	}
	if !ask {
		c, err := dial(ctx)
		if err != nil {
			return err
		}
		return c.Close()
	}
	answer, err := reach.Ask(ctx, dial, "ruok")
	if err == nil && string(answer) != "imok" && !reach.Refused(answer) {
		err = fmt.Errorf("answer %q: %w", answer, io.ErrUnexpectedEOF)
	}
	return err
}
