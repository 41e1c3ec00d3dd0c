package labtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// A found is an entry before it is known whose it is.
type found struct {
	text       string
	interfaces []string     // that it is, is on or names
	addresses  []netip.Addr // that it names
	usual      bool
}

// attribute finds out which entries belong to a network of Docker's.
func attribute(all []found, networks []dockerNetwork) []entry {
	entries := make([]entry, len(all))
	for i, f := range all {
		entries[i] = entry{text: f.text, usual: f.usual}
		for _, n := range networks {
			if slices.Contains(f.interfaces, n.bridge) || slices.ContainsFunc(f.addresses, n.subnet.Contains) {
				entries[i].of = n.bridge
			}
		}
	}
	return entries
}

// readNetwork reads the network namespace that the caller's thread is in.
func readNetwork() ([]found, error) {
	var all []found
	for _, read := range []func() ([]found, error){readInterfaces, readRoutes, readRules, readTables} {
		some, err := read()
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// readInterfaces reads interfaces, their addresses and their queueing disciplines. Link-local addresses are left
// out: an interface gets its own a moment after it is there.
func readInterfaces() ([]found, error) {
	links, err := netlink.LinkList()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoAccess, err)
	}
	names := map[int]string{}
	for _, l := range links {
		names[l.Attrs().Index] = l.Attrs().Name
	}
	var all []found
	for _, l := range links {
		a := l.Attrs()
		on := []string{a.Name}
		if m := names[a.MasterIndex]; m != "" {
			on = append(on, m)
		}
		all = append(all, found{text: fmt.Sprintf("interface %s: %s, mtu %d, up %v, of %q", a.Name, l.Type(), a.MTU, a.Flags&net.FlagUp != 0, names[a.MasterIndex]),
			interfaces: on, usual: l.Type() == "bridge" || l.Type() == "veth"})
		addresses, err := netlink.AddrList(l, netlink.FAMILY_ALL)
		if err != nil && !gone(err) {
			return nil, err
		}
		for _, addr := range addresses {
			if !addr.IP.IsLinkLocalUnicast() {
				all = append(all, found{text: fmt.Sprintf("address %s on %s", addr.IPNet, a.Name), interfaces: on, usual: true})
			}
		}
		disciplines, err := netlink.QdiscList(l)
		if err != nil && !gone(err) {
			return nil, err
		}
		for _, q := range disciplines {
			all = append(all, found{text: fmt.Sprintf("queue of %s: %s", a.Name, q.Type()), interfaces: on, usual: q.Type() == "noqueue"})
		}
	}
	return all, nil
}

// gone reports whether what was asked for has ceased to exist since it was listed.
func gone(err error) bool { return errors.Is(err, unix.ENODEV) || errors.Is(err, unix.ENOENT) }

// readRoutes reads all routing tables but for what comes with link-local addresses, and the routing policy.
func readRoutes() ([]found, error) {
	routes, err := netlink.RouteListFiltered(netlink.FAMILY_ALL, &netlink.Route{Table: unix.RT_TABLE_UNSPEC}, netlink.RT_FILTER_TABLE)
	if err != nil {
		return nil, err
	}
	var all []found
	for _, r := range routes {
		if r.Dst != nil && (r.Dst.IP.IsLinkLocalUnicast() || r.Dst.IP.IsMulticast()) {
			continue
		}
		f := found{text: fmt.Sprintf("route %v via %v from %v dev ", r.Dst, r.Gw, r.Src), usual: true}
		if l, err := netlink.LinkByIndex(r.LinkIndex); err == nil {
			f.text += l.Attrs().Name
			f.interfaces = []string{l.Attrs().Name}
		}
		f.text += fmt.Sprintf(" table %d protocol %d scope %d type %d metric %d", r.Table, r.Protocol, r.Scope, r.Type, r.Priority)
		all = append(all, f)
	}
	for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
		rules, err := netlink.RuleList(family)
		if err != nil {
			return nil, err
		}
		for _, r := range rules {
			all = append(all, found{text: fmt.Sprintf("routing rule %d %v", family, r)})
		}
	}
	return all, nil
}

// readRules reads the tables, chains and rules of nftables, which today's iptables writes as well.
func readRules() ([]found, error) {
	c, err := nftables.New()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoAccess, err)
	}
	tables, err := c.ListTables()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoAccess, err)
	}
	var all []found
	for _, table := range tables {
		all = append(all, found{text: fmt.Sprintf("table %d %s", table.Family, table.Name)})
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
		all = append(all, found{text: fmt.Sprintf("chain %s, policy %s", name, policy)})
		rules, err := c.GetRules(chain.Table, chain)
		if err != nil {
			return nil, err
		}
		for _, r := range rules {
			f, err := describeRule(chain, r)
			if err != nil {
				return nil, err
			}
			f.text = "rule " + name + ": " + f.text
			all = append(all, f)
		}
	}
	return all, nil
}

// describeRule says what a rule does, and whom it is about. What it has counted is left out.
func describeRule(chain *nftables.Chain, r *nftables.Rule) (found, error) {
	const docker = "DOCKER"
	// Docker's own chains are its own, and its raw rules refuse what comes past the bridge.
	f := found{usual: strings.HasPrefix(chain.Name, docker) || chain.Table.Name == "raw"}
	for _, e := range r.Exprs {
		switch e := e.(type) {
		case *expr.Counter:
			continue
		case *expr.Verdict:
			f.usual = f.usual || e.Kind == expr.VerdictAccept || strings.HasPrefix(e.Chain, docker)
		case *expr.Masq:
			f.usual = true
		case *expr.Target:
			f.usual = f.usual || e.Name == "MASQUERADE"
		case *expr.Cmp:
			switch name := string(bytes.TrimRight(e.Data, "\x00")); {
			case len(e.Data) == 3: // a network's first bytes
				f.addresses = append(f.addresses, netip.AddrFrom4([4]byte{e.Data[0], e.Data[1], e.Data[2], 0}))
			case len(e.Data) == 4:
				f.addresses = append(f.addresses, netip.AddrFrom4([4]byte(e.Data)))
			default:
				f.interfaces = append(f.interfaces, name)
			}
		}
		b, err := json.Marshal(e)
		if err != nil {
			return f, err
		}
		f.text += fmt.Sprintf("%T%s ", e, b)
	}
	return f, nil
}

// readTables names the tables of the older iptables. Their rules cannot be read from here.
func readTables() ([]found, error) {
	var all []found
	for _, name := range []string{"ip_tables_names", "ip6_tables_names"} {
		b, err := os.ReadFile("/proc/thread-self/net/" + name)
		if err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, os.ErrPermission) {
			return nil, err
		}
		for table := range strings.FieldsSeq(string(b)) {
			all = append(all, found{text: "table of " + name + ": " + table})
		}
	}
	return all, nil
}
