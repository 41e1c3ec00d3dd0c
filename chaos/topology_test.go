package chaos

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// sees returns, for each host, the hosts that it still has links with in both directions.
func sees(hosts []string, cut []link[string]) map[string]string {
	all := map[string]string{}
	for _, a := range hosts {
		for _, b := range hosts {
			if !slices.Contains(cut, link[string]{a, b}) && !slices.Contains(cut, link[string]{b, a}) {
				all[a] += b
			}
		}
	}
	return all
}

func ring(t *testing.T, hosts []string) []link[string] {
	t.Helper()
	links, err := majoritiesRing(hosts)
	if err != nil {
		t.Fatal(err)
	}
	return links
}

func TestTopologies(t *testing.T) {
	three, five := strings.Split("abc", ""), strings.Split("abcde", "")
	for name, c := range map[string]struct {
		hosts []string
		links []link[string]
		want  map[string]string
	}{
		"alone": {three, between([]string{"b"}, three), map[string]string{"a": "ac", "b": "b", "c": "ac"}},
		"halves of 5": {five, halves("d", five),
			map[string]string{"a": "abc", "b": "abc", "c": "abc", "d": "de", "e": "de"}},
		"halves of 3": {three, halves("c", three), map[string]string{"a": "ab", "b": "ab", "c": "c"}},
		"bridge of 5": {five, bridge("c", five),
			map[string]string{"a": "abc", "b": "abc", "c": "abcde", "d": "cde", "e": "cde"}},
		"bridge of 3": {three, bridge("a", three), map[string]string{"a": "abc", "b": "ab", "c": "ac"}},
		"ring of 5": {five, ring(t, five),
			map[string]string{"a": "abe", "b": "abc", "c": "bcd", "d": "cde", "e": "ade"}},
		"follower":       {three, between([]string{"b"}, []string{"a"}), map[string]string{"a": "ac", "b": "bc", "c": "abc"}},
		"one way is two": {three, oneWay([]string{"b"}, []string{"a"}), map[string]string{"a": "ac", "b": "bc", "c": "abc"}},
	} {
		if got := sees(c.hosts, c.links); !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	if got := oneWay([]string{"a", "b"}, []string{"b", "c"}); fmt.Sprint(got) != "[{a b} {a c} {b c}]" {
		t.Errorf("one way: %v", got)
	}
}

// Each server of a ring reaches a majority, and no two reach the same one, for other sizes too.
func TestARingHasMajorities(t *testing.T) {
	for n := 4; n <= 11; n++ {
		hosts := strings.Split("abcdefghijk"[:n], "")
		seen := map[string]bool{}
		for h, m := range sees(hosts, ring(t, hosts)) {
			if len(m) <= n/2 || len(m) == n || seen[m] {
				t.Errorf("%d hosts: %s sees %s", n, h, m)
			}
			seen[m] = true
		}
	}
	if links, err := majoritiesRing([]string{"a", "b", "c"}); err == nil || !strings.Contains(err.Error(), "needs 5") {
		t.Errorf("a ring of three: %v, %v", links, err)
	}
}

// Every link is cut once, by one of its ends, and a host that is cut off alone cuts all of its own links.
func TestHostsShareACut(t *testing.T) {
	five := strings.Split("abcde", "")
	for name, c := range map[string]struct {
		links []link[string]
		hosts int
	}{
		"alone": {between([]string{"d"}, five), 1}, "halves": {halves("a", five), 2}, "bridge": {bridge("a", five), 2},
		"ring":    {ring(t, five), 3},
		"one way": {oneWay([]string{"c"}, []string{"a", "b"}), 1},
		"clients": {between([]string{"x", "y", "z"}, five[:2]), 2}, "nothing": {nil, 0},
	} {
		cuts := share(c.links)
		var got []link[string]
		for _, cut := range cuts {
			for _, p := range cut.from {
				got = append(got, link[string]{p, cut.host})
			}
			for _, p := range cut.to {
				got = append(got, link[string]{cut.host, p})
			}
		}
		order := func(a, b link[string]) int { return strings.Compare(a.from+a.to, b.from+b.to) }
		want := slices.Clone(c.links)
		slices.SortFunc(got, order)
		slices.SortFunc(want, order)
		if !slices.Equal(got, want) || len(cuts) != c.hosts {
			t.Errorf("%s: %d hosts, want %d; links %v, want %v", name, len(cuts), c.hosts, got, want)
		}
	}
}

// A fault of links names the hosts whose sessions it can cost, so that it explains nothing else.
func TestHostsAffectedByLinks(t *testing.T) {
	servers := strings.Split("abcde", "")
	for _, c := range []struct {
		name, leader string
		links        []link[string]
		want         string
	}{
		{"a client from all", "a", between([]string{"x"}, servers), "x"},
		{"clients from the leader", "a", between([]string{"x", "y"}, servers[:1]), "xy"},
		{"a follower alone", "a", between([]string{"b"}, servers), "b"},
		{"the leader alone", "b", between([]string{"b"}, servers), "bacde"},
		{"a follower from the leader", "a", between([]string{"b"}, servers[:1]), "b"},
		{"halves, the leader in the larger", "a", halves("d", servers), "de"},
		{"halves, the leader in the smaller", "e", halves("d", servers), "dabce"},
		{"a bridge that leads", "c", bridge("c", servers), "dabe"},
		{"one way to the leader", "a", oneWay([]string{"b", "c"}, servers[:1]), "bc"},
		{"without a leader", "", between([]string{"b"}, servers[:1]), "ba"},
		{"a client from the resource", "a", between([]string{"x"}, []string{"r"}), "xr"},
	} {
		if got := strings.Join(affected(c.links, c.leader, servers), ""); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
