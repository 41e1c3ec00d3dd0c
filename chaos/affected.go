package chaos

import (
	"context"
	"slices"

	"locklab/ensembles"
)

// affectedHosts names the hosts whose sessions a fault on these links can affect, given the server that leads now. If
// there is no ensemble or no leader, these are all hosts with such a link.
func affectedHosts(ctx context.Context, e *ensembles.Ensemble, links []hostLink) []string {
	var leader *ensembles.Host
	var servers []*ensembles.Host
	if e != nil {
		servers = e.Servers
		leader, _ = e.Leader(ctx) // nil is an answer
	}
	return hostNames(affected(links, leader, servers))
}

// affected returns the hosts whose sessions a fault on these links can cost. For a link between a client and a
// server, that is the client. For links between servers, these are the servers that lose their leader, or all servers
// if the leader loses its majority. If leader is the zero value, the leader is unknown, and every server with such a
// link counts.
func affected[T comparable](links []link[T], leader T, servers []T) []T {
	var all, ends []T
	add := func(to *[]T, h T) {
		if !slices.Contains(*to, h) {
			*to = append(*to, h)
		}
	}
	lost := map[T]bool{} // by the leader
	for _, l := range links {
		from, to := slices.Contains(servers, l.from), slices.Contains(servers, l.to)
		switch {
		case from && to:
			add(&ends, l.from)
			add(&ends, l.to)
			if l.from == leader {
				lost[l.to] = true
			} else if l.to == leader {
				lost[l.from] = true
			}
		case from:
			add(&all, l.to)
		case to:
			add(&all, l.from)
		default:
			add(&all, l.from)
			add(&all, l.to)
		}
	}
	var none T
	switch {
	case len(ends) == 0:
	case leader == none, len(lost) == 0:
		all = append(all, ends...)
	case len(servers)-len(lost) <= len(servers)/2:
		for _, s := range slices.Concat(ends, servers) {
			add(&all, s)
		}
	default:
		for _, s := range ends {
			if lost[s] {
				add(&all, s)
			}
		}
	}
	return all
}
