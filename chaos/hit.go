package chaos

import (
	"context"
	"slices"

	"locklab/ensembles"
)

// hit names the hosts that harm to links tells on, going by who leads now; without an
// ensemble, or a leader, all that have such a link.
func hit(ctx context.Context, e *ensembles.Ensemble, links []Link[*ensembles.Host]) []string {
	var leader *ensembles.Host
	var servers []*ensembles.Host
	if e != nil {
		servers = e.Servers
		leader, _ = e.Leader(ctx) // nil is an answer
	}
	var names []string
	for _, h := range affected(links, leader, servers) {
		names = append(names, h.Name)
	}
	return names
}

// affected is the hosts whose sessions harm to links can cost: of a link to a server,
// its client; of servers, those that lose their leader, and all if the leader loses
// its majority. The zero leader is unknown: then each server with such a link.
func affected[T comparable](links []Link[T], leader T, servers []T) []T {
	var all, ends []T
	add := func(to *[]T, h T) {
		if !slices.Contains(*to, h) {
			*to = append(*to, h)
		}
	}
	lost := map[T]bool{} // by the leader
	for _, l := range links {
		from, to := slices.Contains(servers, l.From), slices.Contains(servers, l.To)
		switch {
		case from && to:
			add(&ends, l.From)
			add(&ends, l.To)
			if l.From == leader {
				lost[l.To] = true
			} else if l.To == leader {
				lost[l.From] = true
			}
		case from:
			add(&all, l.To)
		case to:
			add(&all, l.From)
		default:
			add(&all, l.From)
			add(&all, l.To)
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
