package chaos

import (
	"fmt"
	"slices"
)

// A link is one direction from a host to another.
type link[T comparable] struct {
	from, to T
}

// oneWay returns the links from each of some hosts to each of others. If these are cut, no TCP connection can be
// made, because that needs both directions, but what is sent in the other direction still arrives.
func oneWay[T comparable](from, to []T) []link[T] {
	var all []link[T]
	for _, f := range from {
		for _, t := range to {
			if f != t {
				all = append(all, link[T]{f, t})
			}
		}
	}
	return all
}

// between returns the links in both directions between two groups, such as one host and all others, clients and a
// server, or a follower and its leader.
func between[T comparable](a, b []T) []link[T] {
	return append(oneWay(a, b), oneWay(b, a)...)
}

// halves returns the links between two halves of the hosts. The named host is in the smaller half, of len/2 hosts,
// with those that follow it in their ring.
func halves[T comparable](one T, hosts []T) []link[T] {
	ring := ringFrom(one, hosts)
	return between(ring[:len(ring)/2], ring[len(ring)/2:])
}

// bridge returns the links between two groups of hosts that only the named host still connects, because it reaches
// all hosts.
func bridge[T comparable](bridge T, hosts []T) []link[T] {
	rest := ringFrom(bridge, hosts)[1:]
	return between(rest[:len(rest)/2], rest[len(rest)/2:])
}

// majoritiesRing returns the links to cut so that each host of a ring keeps only its neighbours, just enough for a
// majority. Every host then reaches a majority, and no two hosts reach the same one. With fewer than four hosts,
// there is nothing to cut.
func majoritiesRing[T comparable](hosts []T) ([]link[T], error) {
	n := len(hosts)
	if n < 4 {
		return nil, fmt.Errorf("a ring of majorities of %d servers leaves nothing to cut; it needs 5", n)
	}
	// A majority of n/2+1 is the host itself and n/2 others, or one more so that there are as many on either side.
	reach := (n/2 + 1) / 2
	var all []link[T]
	for i, h := range hosts {
		for j, o := range hosts {
			if apart := (j - i + n) % n; apart > reach && apart < n-reach {
				all = append(all, link[T]{h, o})
			}
		}
	}
	return all, nil
}

// ringFrom returns the hosts in their order, beginning with one of them.
func ringFrom[T comparable](one T, hosts []T) []T {
	i := max(0, slices.Index(hosts, one))
	return slices.Concat(hosts[i:], hosts[:i])
}

// A hostCut is what one host has to cut.
type hostCut[T comparable] struct {
	host T
	// from are the peers whose links to the host it cuts, to are the peers whose links from the host it cuts.
	from, to []T
}

// share assigns each link to one of its ends, to as few hosts as a greedy choice finds, because what a single host
// does happens at one instant.
func share[T comparable](links []link[T]) []hostCut[T] {
	left := slices.Clone(links)
	var all []hostCut[T]
	for len(left) > 0 {
		ends := map[T]int{}
		most := left[0].from
		for _, l := range left {
			ends[l.from]++
			ends[l.to]++
		}
		for _, l := range left { // in the order of the links, not of a map
			for _, h := range []T{l.from, l.to} {
				if ends[h] > ends[most] {
					most = h
				}
			}
		}
		cut := hostCut[T]{host: most}
		left = slices.DeleteFunc(left, func(l link[T]) bool {
			switch most {
			case l.from:
				cut.to = append(cut.to, l.to)
			case l.to:
				cut.from = append(cut.from, l.from)
			default:
				return false
			}
			return true
		})
		all = append(all, cut)
	}
	return all
}
