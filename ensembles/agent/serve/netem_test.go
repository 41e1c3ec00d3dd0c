package serve

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"locklab/ensembles/agent"
)

// qdiscs names the loopback interface's queues.
func qdiscs() (string, error) {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return "", err
	}
	all, err := netlink.QdiscList(lo)
	names := make([]string, len(all))
	for i, q := range all {
		names[i] = q.Type()
	}
	return fmt.Sprint(names), err
}

// Queues apply to peers only. On a kernel without netem, the test uses a queue that lets a few packets per second
// pass.
func TestQueuesApplyToPeersOnly(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		t.Fatal(err)
	}
	narrow := func(_ netip.Addr, at netlink.QdiscAttrs) netlink.Qdisc {
		return &netlink.Tbf{QdiscAttrs: at, Rate: 1000, Limit: 2000, Buffer: uint32(netlink.TickInUsec() * 2e6)}
	}
	count := func(to netip.Addr) int { return passed(t, host1, to, 50, 500, 0).Count }
	for range 2 { // the second time replaces the first
		if err := replaceQdiscs(lo.Attrs().Index, []netip.Addr{peer2}, narrow); err != nil {
			t.Fatal(err)
		}
	}
	if narrowed, free := count(peer2), count(peer3); narrowed > 10 || free != 50 {
		t.Errorf("%d of 50 passed the queue, %d of 50 beside it", narrowed, free)
	}
	if err := replaceQdiscs(lo.Attrs().Index, nil, narrow); err != nil {
		t.Fatal(err)
	}
	if n := count(peer2); n != 50 {
		t.Errorf("%d of 50 passed without the queue", n)
	}
	if q, err := qdiscs(); err != nil || q != "[noqueue]" {
		t.Errorf("%s is left, %v", q, err)
	}
	// If the kernel has netem, it delays.
	d := newDelays(newRecorder(t))
	if tryNetem() == nil {
		if _, err := d.delay(agent.Delay{ID: "f1", Peers: []netip.Addr{peer2}, Latency: 100 * time.Millisecond}); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		if got := dial(t, host1, echo(t, peer2)); got != "reached" || time.Since(begun) < 100*time.Millisecond {
			t.Errorf("%s after %v", got, time.Since(begun))
		}
		if _, err := d.clear("f1"); err != nil {
			t.Fatal(err)
		}
	}
}
