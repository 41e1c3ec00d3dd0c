package labtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// readNetwork reads the network namespace that the caller's thread is in.
func readNetwork() ([]entry, error) {
	var all []entry
	for _, read := range []func() ([]entry, error){readInterfaces, readRoutes, readRules, readOldTables} {
		some, err := read()
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// readInterfaces reads interfaces, their addresses and their queueing disciplines. It leaves link-local addresses out,
// because an interface gets its own a moment after it is made.
func readInterfaces() ([]entry, error) {
	links, err := netlink.LinkList()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoAccess, err)
	}
	names := map[int]string{}
	for _, l := range links {
		names[l.Attrs().Index] = l.Attrs().Name
	}
	var all []entry
	for _, l := range links {
		a := l.Attrs()
		add := func(usual bool, format string, args ...any) {
			on := []string{a.Name, names[a.MasterIndex]}
			all = append(all, entry{text: fmt.Sprintf(format, args...), interfaces: on, usual: usual})
		}
		add(l.Type() == "bridge" || l.Type() == "veth", "interface %s: %s, mtu %d, up %v, of %q",
			a.Name, l.Type(), a.MTU, a.Flags&net.FlagUp != 0, names[a.MasterIndex])
		addresses, err := netlink.AddrList(l, netlink.FAMILY_ALL)
		if err != nil && !gone(err) {
			return nil, err
		}
		for _, addr := range addresses {
			if !addr.IP.IsLinkLocalUnicast() {
				add(true, "address %s on %s", addr.IPNet, a.Name)
			}
		}
		disciplines, err := netlink.QdiscList(l)
		if err != nil && !gone(err) {
			return nil, err
		}
		for _, q := range disciplines {
			add(q.Type() == "noqueue", "queue of %s: %s", a.Name, q.Type())
		}
	}
	return all, nil
}

// gone reports whether an interface has ceased to exist since it was listed.
func gone(err error) bool { return errors.Is(err, unix.ENODEV) || errors.Is(err, unix.ENOENT) }

// readRoutes reads all routing tables, apart from what comes with link-local addresses, and the routing policy.
func readRoutes() ([]entry, error) {
	every := &netlink.Route{Table: unix.RT_TABLE_UNSPEC}
	routes, err := netlink.RouteListFiltered(netlink.FAMILY_ALL, every, netlink.RT_FILTER_TABLE)
	if err != nil {
		return nil, err
	}
	var all []entry
	for _, r := range routes {
		if r.Dst != nil && (r.Dst.IP.IsLinkLocalUnicast() || r.Dst.IP.IsMulticast()) {
			continue
		}
		var dev string
		if l, err := netlink.LinkByIndex(r.LinkIndex); err == nil {
			dev = l.Attrs().Name
		}
		all = append(all, entry{interfaces: []string{dev}, usual: true, text: fmt.Sprintf(
			"route %v via %v from %v dev %s table %d protocol %d scope %d type %d metric %d",
			r.Dst, r.Gw, r.Src, dev, r.Table, r.Protocol, r.Scope, r.Type, r.Priority)})
	}
	for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
		rules, err := netlink.RuleList(family)
		if err != nil {
			return nil, err
		}
		for _, r := range rules {
			all = append(all, entry{text: fmt.Sprintf("routing rule %d %v", family, r)})
		}
	}
	return all, nil
}

// readRules reads the tables, chains and rules of nftables. Today's iptables writes them as well.
func readRules() ([]entry, error) {
	c, err := nftables.New()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoAccess, err)
	}
	tables, err := c.ListTables()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoAccess, err)
	}
	var all []entry
	for _, table := range tables {
		all = append(all, entry{text: fmt.Sprintf("table %d %s", table.Family, table.Name)})
	}
	chains, err := c.ListChains()
	if err != nil {
		return nil, err
	}
	for _, chain := range chains {
		name := fmt.Sprintf("%d %s %s", chain.Table.Family, chain.Table.Name, chain.Name)
		policy := "none"
		if chain.Policy != nil {
			policy = fmt.Sprint(*chain.Policy)
		}
		all = append(all, entry{text: fmt.Sprintf("chain %s, policy %s", name, policy)})
		rules, err := c.GetRules(chain.Table, chain)
		if err != nil {
			return nil, err
		}
		for _, r := range rules {
			e, err := describeRule(chain, r)
			if err != nil {
				return nil, err
			}
			e.text = "rule " + name + ": " + e.text
			all = append(all, e)
		}
	}
	return all, nil
}

// describeRule says what a rule does and which interfaces and addresses it names. It leaves out what it has counted.
func describeRule(chain *nftables.Chain, r *nftables.Rule) (entry, error) {
	// All rules of Docker's own chains are Docker's, and those in the raw table, which refuse packets that avoid the
	// bridge. Elsewhere Docker accepts, masquerades, and jumps to its own chains.
	const docker = "DOCKER"
	made := entry{usual: strings.HasPrefix(chain.Name, docker) || chain.Table.Name == "raw"}
	for _, x := range r.Exprs {
		switch x := x.(type) {
		case *expr.Counter:
			continue
		case *expr.Verdict:
			made.usual = made.usual || x.Kind == expr.VerdictAccept || strings.HasPrefix(x.Chain, docker)
		case *expr.Masq:
			made.usual = true
		case *expr.Target:
			made.usual = made.usual || x.Name == "MASQUERADE"
		case *expr.Cmp:
			if n := len(x.Data); n == 3 || n == 4 { // an address, or the first bytes of a network's
				made.addresses = append(made.addresses, netip.AddrFrom4([4]byte(append(bytes.Clone(x.Data), 0)[:4])))
			} else {
				made.interfaces = append(made.interfaces, string(bytes.TrimRight(x.Data, "\x00")))
			}
		}
		b, err := json.Marshal(x)
		if err != nil {
			return made, err
		}
		made.text += fmt.Sprintf("%T%s ", x, b)
	}
	return made, nil
}

// readOldTables names the tables of the older iptables, whose rules nftables does not list.
func readOldTables() ([]entry, error) {
	var all []entry
	for _, name := range []string{"ip_tables_names", "ip6_tables_names"} {
		b, err := os.ReadFile("/proc/thread-self/net/" + name)
		if err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, os.ErrPermission) {
			return nil, err
		}
		for table := range strings.FieldsSeq(string(b)) {
			all = append(all, entry{text: "table of " + name + ": " + table})
		}
	}
	return all, nil
}
