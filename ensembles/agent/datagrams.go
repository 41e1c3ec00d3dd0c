package agent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"locklab/harness/history"
)

// datagrams counts what arrives on a host, so that each way of a link can be looked
// at by itself. Only ids that were asked for are counted.
type datagrams struct {
	conn  *net.UDPConn
	raw   syscall.RawConn
	clock history.Clock

	mu    sync.Mutex
	next  int
	order []string
	heard map[string]Heard
}

// maxExpected is how many expectations are kept; the oldest are forgotten.
const maxExpected = 1024

// idEnds is what ends the id in a datagram; the rest of it is padding.
const idEnds = "\n"

// receiveBuffer is what may wait to be counted, in bytes of the kernel's: half a second of datagrams from
// all hosts of a lab at once, on a machine too busy to count any meanwhile. A datagram that finds it full
// would count as lost on the way.
const receiveBuffer = 4 << 20

func listenDatagrams(ctx context.Context, address string, clock history.Clock) (*datagrams, error) {
	c, err := (&net.ListenConfig{}).ListenPacket(ctx, "udp4", address)
	if err != nil {
		return nil, fmt.Errorf("listen for datagrams: %w", err)
	}
	d := &datagrams{conn: c.(*net.UDPConn), clock: clock, heard: map[string]Heard{}}
	if d.raw, err = d.conn.SyscallConn(); err == nil {
		err = d.conn.SetReadBuffer(receiveBuffer) // the kernel may give less, without a word
	}
	if err != nil {
		d.conn.Close()
		return nil, fmt.Errorf("listen for datagrams: %w", err)
	}
	_ = d.raw.Control(func(fd uintptr) {
		// Beyond the machine's limit (net.core.rmem_max), which whoever may administer the network
		// need not keep. Elsewhere, what was given has to do.
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

// drain counts what has arrived, and does not wait. d.mu is held, so that nothing is ever read and not
// counted yet.
func (d *datagrams) drain(fd int) {
	var buf [64]byte // the id; the rest is cut off
	for {
		n, _, err := unix.Recvfrom(fd, buf[:], unix.MSG_DONTWAIT)
		if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EBADF) {
			return
		}
		if err != nil {
			continue // interrupted, or an ICMP error about something that was sent
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

func (d *datagrams) expect() Expectation {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.next++
	id := fmt.Sprint(d.next)
	if len(d.order) == maxExpected {
		delete(d.heard, d.order[0])
		d.order = d.order[1:]
	}
	d.order = append(d.order, id)
	d.heard[id] = Heard{}
	return Expectation{ID: id}
}

// result is what has arrived by now, counted or not.
func (d *datagrams) result(id string) (Heard, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.raw.Control(func(fd uintptr) { d.drain(int(fd)) }); err != nil {
		return Heard{}, fmt.Errorf("datagrams: %w", err)
	}
	h, ok := d.heard[id]
	if !ok {
		return Heard{}, fmt.Errorf("datagrams: %q is not expected", id)
	}
	return h, nil
}

// send returns when the last datagram was sent. One that a rule of this host's does
// not let out counts as sent.
func (d *datagrams) send(ctx context.Context, s Datagrams) (Stamp, error) {
	if s.Count < 1 || s.Count > 1<<20 || s.Size < 0 || s.Size > 1400 || s.ID == "" || len(s.ID) > 32 {
		return Stamp{}, fmt.Errorf("datagrams: cannot send %+v", s)
	}
	payload := []byte(s.ID + idEnds)
	payload = append(payload, make([]byte, max(0, s.Size-len(payload)))...)
	begun := time.Now()
	for i := range s.Count {
		// Behind time, it catches up without waiting.
		if wait := time.Until(begun.Add(time.Duration(i) * s.Every)); wait > 0 {
			t := time.NewTimer(wait)
			select {
			case <-t.C:
			case <-ctx.Done():
				t.Stop()
				return Stamp{}, context.Cause(ctx)
			}
		}
		if _, err := d.conn.WriteToUDPAddrPort(payload, s.To); err != nil && !errors.Is(err, syscall.EPERM) {
			return Stamp{}, fmt.Errorf("datagrams: %w", err)
		}
	}
	return Stamp{At: d.clock.Now()}, nil
}
