package serve

import (
	"context"
	"fmt"
	"net"
	"os"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"locklab/ensembles/agent"
)

// capabilities tries each feature that the host's faults need, in a way that affects no packet. It tries nothing of a
// network that is not the host's own.
func (a *server) capabilities(context.Context) (agent.Capabilities, error) {
	clock := func() error { _, err := findClock(os.DirFS("/")); return err }
	if a.cfg.Surroundings != nil {
		caps := agent.SharedNetwork()
		caps[agent.CapFaketime] = lack(clock())
		return caps, nil
	}
	caps := agent.Capabilities{}
	for name, try := range map[string]func() error{
		agent.CapNetAdmin: func() error { return tryRule() },
		agent.CapReject:   func() error { return tryRule(&expr.Reject{Type: unix.NFT_REJECT_ICMP_UNREACH}) },
		agent.CapLoss: func() error {
			return tryRule(&expr.Numgen{Register: 1, Modulus: 100, Type: unix.NFT_NG_RANDOM})
		},
		agent.CapLimit: func() error {
			return tryRule(&expr.Limit{Type: expr.LimitTypePktBytes, Rate: 1000, Unit: expr.LimitTimeSecond,
				Over: true, Burst: 1000})
		},
		agent.CapNetem:    tryNetem,
		agent.CapDestroy:  tryDestroy,
		agent.CapFaketime: clock,
	} {
		caps[name] = lack(try())
	}
	return caps, nil
}

// lack returns why a capability is lacking; empty if it is not.
func lack(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// tryRule adds a rule to a chain that no packet enters, and removes it.
func tryRule(exprs ...expr.Any) error {
	c, err := nftables.New()
	if err != nil {
		return err
	}
	table := c.AddTable(&nftables.Table{Family: nftables.TableFamilyIPv4, Name: tableName + "-try"})
	chain := c.AddChain(&nftables.Chain{Name: "none", Table: table})
	c.AddRule(&nftables.Rule{Table: table, Chain: chain, Exprs: append(exprs, &expr.Counter{})})
	c.DelTable(table)
	return c.Flush()
}

// tryNetem adds a netem qdisc without effect to the loopback interface.
func tryNetem() error {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return err
	}
	q := netlink.NewNetem(netlink.QdiscAttrs{LinkIndex: lo.Attrs().Index, Parent: netlink.HANDLE_ROOT,
		Handle: netlink.MakeHandle(1, 0)}, netlink.NetemQdiscAttrs{})
	if err := netlink.QdiscAdd(q); err != nil {
		return fmt.Errorf("add netem: %w", err)
	}
	return netlink.QdiscDel(q)
}

// tryDestroy makes a connection on the loopback and destroys one end of it.
func tryDestroy() error {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer l.Close()
	c, err := net.Dial("tcp4", l.Addr().String())
	if err != nil {
		return err
	}
	defer c.Close()
	return netlink.SocketDestroy(c.LocalAddr(), c.RemoteAddr())
}
