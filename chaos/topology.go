package chaos

import (
	"fmt"
	"slices"
)

// A Link is one direction from a host to another.
type Link[T comparable] struct {
	From, To T
}

// OneWay returns the links from each of some hosts to each of others. If these are cut, no TCP connection can be
// made, because that needs both directions, but what is sent in the other direction still arrives.
func OneWay[T comparable](from, to []T) []Link[T] {
	var all []Link[T]
	for _, f := range from {
		for _, t := range to {
			if f != t {
				all = append(all, Link[T]{f, t})
			}
		}
	}
	return all
}

// Between returns the links in both directions between two groups, such as one host and all others, clients and a
// server, or a follower and its leader.
func Between[T comparable](a, b []T) []Link[T] {
	return append(OneWay(a, b), OneWay(b, a)...)
}

// Halves returns the links between two halves of the hosts. The named host is in the smaller half, of len/2 hosts,
// with those that follow it in their ring.
func Halves[T comparable](one T, hosts []T) []Link[T] {
	ring := ringFrom(one, hosts)
	return Between(ring[:len(ring)/2], ring[len(ring)/2:])
}

// Bridge returns the links between two groups of hosts that only the named host still connects, because it reaches
// all hosts.
func Bridge[T comparable](bridge T, hosts []T) []Link[T] {
	rest := ringFrom(bridge, hosts)[1:]
	return Between(rest[:len(rest)/2], rest[len(rest)/2:])
}

// MajoritiesRing returns the links to cut so that each host of a ring keeps only its neighbours, just enough for a
// majority. Every host then reaches a majority, and no two hosts reach the same one. With fewer than four hosts,
// there is nothing to cut.
func MajoritiesRing[T comparable](hosts []T) ([]Link[T], error) {
	n := len(hosts)
	if n < 4 {
		return nil, fmt.Errorf("a ring of majorities of %d servers leaves nothing to cut; it needs 5", n)
	}
	// A majority of n/2+1 is the host itself and n/2 others, or one more so that there are as many on either side.
	reach := (n/2 + 1) / 2
	var all []Link[T]
	for i, h := range hosts {
		for j, o := range hosts {
			if apart := (j - i + n) % n; apart > reach && apart < n-reach {
				all = append(all, Link[T]{h, o})
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
func share[T comparable](links []Link[T]) []hostCut[T] {
	left := slices.Clone(links)
	var all []hostCut[T]
	for len(left) > 0 {
		ends := map[T]int{}
		most := left[0].From
		for _, l := range left {
			ends[l.From]++
			ends[l.To]++
		}
		for _, l := range left { // in the order of the links, not of a map
			for _, h := range []T{l.From, l.To} {
				if ends[h] > ends[most] {
					most = h
				}
			}
		}
		cut := hostCut[T]{host: most}
		left = slices.DeleteFunc(left, func(l Link[T]) bool {
			switch most {
			case l.From:
				cut.to = append(cut.to, l.To)
			case l.To:
				cut.from = append(cut.from, l.From)
			default:
				return false
			}
			return true
		})
		all = append(all, cut)
	}
	return all
}
