package check

import (
	"cmp"
	"slices"

	"locklab/harness/history"
)

// inSection notes an accepted access under a hold without a token. Nothing tells whether such an access is outdated,
// but the resource's own record shows who used it together.
func (x *effects) inSection(l *lockEffect, e *history.Event) {
	if !x.excludes || e.Token != 0 || e.Mode == history.ModePermit || e.Op == history.OpExit || e.Client == "" {
		return
	}
	u := l.sections[keyOf(e)]
	if u == nil {
		u = &use{first: kept(e)}
		l.sections[keyOf(e)] = u
	}
	u.last = e.At
}

// together looks for uses of the resource that overlap though the holds behind them exclude each other: from the first
// access of each that was accepted to its last. It is what [effects.crowd] is for permits.
func (x *effects) together() {
	for _, lock := range sortedKeys(x.locks) {
		var uses []*use
		for _, u := range x.locks[lock].sections {
			uses = append(uses, u)
		}
		slices.SortFunc(uses, func(a, b *use) int {
			return cmp.Or(cmp.Compare(a.first.At, b.first.At), cmp.Compare(a.first.Client, b.first.Client))
		})
		holds := make([]hold, len(uses))
		first := map[*history.Acquisition]*history.Event{}
		for i, u := range uses {
			by := &history.Acquisition{Claimant: &history.Claimant{Client: u.first.Client, Mode: u.first.Mode}, N: u.first.Acq}
			holds[i], first[by] = hold{u.first.At, u.last, by}, u.first
		}
		eachOverlap(holds, func(a, b *hold) {
			x.shared++
			until := min(a.until, b.until)
			x.note(damage{lock: x.locks[lock], e: first[b.by], by: first[a.by], until: until,
				finding: x.find("together", first[b.by], first[a.by], "%s used it while %s did, from %s to %s", b.by.Client,
					a.by.Client, seconds(b.from), seconds(until))})
		})
	}
}
