package chaos

import (
	"fmt"
	"slices"
)

// A Link is one way from a host to another.
type Link[T comparable] struct {
	From, To T
}

// OneWay is the links from each of some hosts to each of others. A TCP connection
// needs both ways, so none can be made; what was sent the other way still arrives.
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

// Between is the links both ways between two groups: a host alone, clients cut off
// from a server, a follower cut off from its leader.
func Between[T comparable](a, b []T) []Link[T] {
	return append(OneWay(a, b), OneWay(b, a)...)
}

// Halves is the links between two halves of the hosts. The one named is in the
// smaller half, of len/2 hosts, with those that follow it in their ring.
func Halves[T comparable](one T, hosts []T) []Link[T] {
	ring := ringFrom(one, hosts)
	return Between(ring[:len(ring)/2], ring[len(ring)/2:])
}

// Bridge is the links between two groups of hosts that only the one named still
// connects: it reaches everybody.
func Bridge[T comparable](bridge T, hosts []T) []Link[T] {
	rest := ringFrom(bridge, hosts)[1:]
	return Between(rest[:len(rest)/2], rest[len(rest)/2:])
}

// MajoritiesRing is the links that remain to be cut when each host of a ring keeps
// those next to it, just enough for a majority: every host has one, and no two the
// same. Fewer than four hosts have none.
func MajoritiesRing[T comparable](hosts []T) ([]Link[T], error) {
	n := len(hosts)
	if n < 4 {
		return nil, fmt.Errorf("a ring of majorities of %d servers leaves nothing to cut; it needs 5", n)
	}
	// A majority of n/2+1 is the host itself and n/2 others, or one more to have as
	// many on either side.
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

// ringFrom is the hosts in their order, beginning with one.
func ringFrom[T comparable](one T, hosts []T) []T {
	i := max(0, slices.Index(hosts, one))
	return slices.Concat(hosts[i:], hosts[:i])
}

// A hostCut is what one host has to cut.
type hostCut[T comparable] struct {
	host T
	// From and to are the peers of which it cuts the links to it and from it.
	from, to []T
}

// share gives each link to one of its ends, to as few hosts as a greedy choice
// finds: what one host does alone is done at one instant.
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
