package ensembles_test

import (
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/nftables"
	"github.com/google/nftables/expr"
)

// hostNetwork lists the interfaces and nftables rules of the namespace that the
// tests run in, but Docker's own: bridges and their ends, its chains, what leads
// there, and what it masquerades.
func hostNetwork(t *testing.T) []string {
	t.Helper()
	var all []string
	interfaces, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range interfaces {
		if i.Name != "docker0" && !strings.HasPrefix(i.Name, "br-") && !strings.HasPrefix(i.Name, "veth") {
			all = append(all, fmt.Sprintf("interface %s mtu %d", i.Name, i.MTU))
		}
	}
	c, err := nftables.New()
	if err != nil {
		t.Skipf("no access to nftables: %v", err)
	}
	tables, err := c.ListTables()
	if err != nil {
		t.Skipf("no access to nftables: %v", err)
	}
	for _, table := range tables {
		all = append(all, fmt.Sprintf("table %d %s", table.Family, table.Name))
	}
	chains, err := c.ListChains()
	if err != nil {
		t.Fatal(err)
	}
	for _, chain := range chains {
		if strings.HasPrefix(chain.Name, "DOCKER") {
			continue
		}
		all = append(all, fmt.Sprintf("chain %s %s", chain.Table.Name, chain.Name))
		rules, err := c.GetRules(chain.Table, chain)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rules {
			if text, dockers := describe(t, r); !dockers {
				all = append(all, fmt.Sprintf("rule %s %s %s", chain.Table.Name, chain.Name, text))
			}
		}
	}
	slices.Sort(all)
	return all
}

func describe(t *testing.T, r *nftables.Rule) (text string, dockers bool) {
	t.Helper()
	for _, e := range r.Exprs {
		switch e := e.(type) {
		case *expr.Counter:
			continue
		case *expr.Verdict:
			dockers = dockers || strings.HasPrefix(e.Chain, "DOCKER")
		case *expr.Target:
			dockers = dockers || e.Name == "MASQUERADE"
		case *expr.Cmp:
			dockers = dockers || strings.HasPrefix(string(e.Data), "br-") || strings.HasPrefix(string(e.Data), "docker0")
		}
		b, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		text += fmt.Sprintf("%T%s ", e, b)
	}
	return text, dockers
}

func sameNetwork(t *testing.T, before, now []string) {
	t.Helper()
	if diff := cmp.Diff(before, now); diff != "" {
		t.Errorf("the host's network changed (-before +now):\n%s", diff)
	}
}
