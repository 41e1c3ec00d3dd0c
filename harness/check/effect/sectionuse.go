package effect

import (
	"cmp"
	"slices"

	"locklab/harness/check/evidence"
	"locklab/harness/history"
)

// inSection notes an accepted access under a hold without a token. Nothing tells whether such an access is outdated,
// but the resource's own record shows who used it together.
func (x *Effects) inSection(l *LockEffect, e *history.Event) {
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
// access of each that was accepted to its last. It is what [Effects.crowd] is for permits.
func (x *Effects) together() {
	for _, lock := range evidence.SortedKeys(x.Locks) {
		var uses []*use
		for _, u := range x.Locks[lock].sections {
			uses = append(uses, u)
		}
		slices.SortFunc(uses, func(a, b *use) int {
			return cmp.Or(cmp.Compare(a.first.At, b.first.At), cmp.Compare(a.first.Client, b.first.Client))
		})
		holds := make([]evidence.Hold, len(uses))
		first := map[*history.Acquisition]*history.Event{}
		for i, u := range uses {
			by := &history.Acquisition{Claimant: &history.Claimant{Client: u.first.Client, Mode: u.first.Mode}, N: u.first.Acq}
			holds[i], first[by] = evidence.Hold{From: u.first.At, Until: u.last, By: by}, u.first
		}
		evidence.EachOverlap(holds, func(a, b *evidence.Hold) {
			x.shared++
			until := min(a.Until, b.Until)
			x.note(damage{lock: x.Locks[lock], e: first[b.By], by: first[a.By], until: until,
				finding: x.find("together", first[b.By], first[a.By], "%s used it while %s did, from %s to %s", b.By.Client,
					a.By.Client, evidence.Seconds(b.From), evidence.Seconds(until))})
		})
	}
}
