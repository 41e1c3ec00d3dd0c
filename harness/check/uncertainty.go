package check

import (
	"fmt"
	"slices"
	"strings"

	"locklab/ensembles/txnlog"
	"locklab/ensembles/txnlog/nodes"
	"locklab/harness/history"
)

// Hosts of several machines have several clocks. What they recorded is placed on the run's clock with an error
// ([history.Clocks]), so two instants of two hosts whose distance is below the sum of their errors may have come in
// either order. On one machine nothing is uncertain, and each of the functions below says so.
//
// What uncertainty does to the checks:
//
//   - Belief exclusion: an overlap, or the gap of a hand-off, that is shorter than the uncertainty is neither an
//     overlap nor none. It is left out if the servers' transactions show that it was a hand-off ([digest.handedOver]),
//     and otherwise the verdict is unknown, unless it fails by others and a fault explains this one as well.
//   - Tokens, fairness, refusals, hand-offs, conditions under sometimes, and late and stale accesses of clients'
//     records: pairs whose order is uncertain prove nothing. Those that would accuse somebody make the verdict unknown
//     or are left out.
//   - Faults, sessions and stalls: bounds that clients and servers must keep are longer, and those that a fault must
//     reach to explain something are shorter, by as much as any two hosts may be off ([digest.slack]). That a fault
//     struck a holder must be certain.
//   - Service exclusion: servers' transactions have times of the leader's wall clock, which may differ from the
//     harness's too. All of it is part of the error with which they are placed ([placement]).
//   - What is exact: the order of the resource's record, of each client's own, and of the servers' transactions.
//
// If the readings of a clock contradict each other, or leave more open than [stepped], the run's assumptions do not
// hold, and the run is unknown.

// apart is by how much the times of two hosts may be off each other because they have different clocks.
func (d *digest) apart(p, q string) int64 { return d.events.Clocks().Apart(p, q) }

// slack is by how much the times of any two hosts may be off each other.
func (d *digest) slack() int64 { return d.events.Clocks().Worst() }

// unplaced says which hosts' clocks leave too much open.
func (d *digest) unplaced() []string {
	reasons := d.events.Clocks().Broken()
	for _, u := range d.events.Clocks().Uncertain() {
		if u.Err > stepped {
			reasons = append(reasons, fmt.Sprintf("the clock of %s is placed only within %s, and nothing is proved by more "+
				"than %s", strings.Join(u.Hosts, ", "), millis(u.Err), millis(stepped)))
		}
	}
	return reasons
}

// placedWithin says how closely other clocks are placed on the run's; empty if there are none.
func (d *digest) placedWithin() string {
	var parts []string
	for _, u := range d.events.Clocks().Uncertain() {
		parts = append(parts, fmt.Sprintf("%s within %s", strings.Join(u.Hosts, ", "), millis(u.Err)))
	}
	if len(parts) == 0 {
		return ""
	}
	return "; clocks of other machines are placed on the run's: " + strings.Join(parts, "; ")
}

// handedOver reports whether older had called release before newer's acquire returned, whatever their clocks show: by
// the servers' transactions, older's own session deleted its znode, in a release that succeeded, before newer's became
// eligible.
func (d *digest) handedOver(older, newer *history.Acquisition) bool {
	if d.servers == nil || !d.transactions.whole() || older.ReleaseInvoked == history.None || !endedCleanly(older) {
		return false
	}
	o, n := d.servers.proof(older), d.servers.proof(newer)
	if o.answer != nodes.Witnessed || n.answer != nodes.Witnessed {
		return false
	}
	end := o.end()
	from, _ := n.from()
	return end != nil && end.Cause != txnlog.CloseSession && end.By == int64(older.Session) && end.Zxid <= from
}

// uncertain notes a pair of holds that may have overlapped, or not, because of the clocks of their hosts.
func (b *belief) uncertain(older, newer *history.Acquisition, by int64) {
	if b.handedOver(older, newer) || b.handedOver(newer, older) {
		return
	}
	b.within = max(b.within, by)
	if !b.facts.Exclusive || b.taken(older, newer).explained() {
		b.leftOut++
	} else {
		b.perhaps++
	}
}

// hidden looks for holds that followed each other by their clocks, and by so little that they may have overlapped.
// Those of permits are many at once; limit is how many there may be.
func (b *belief) hidden(holds []hold, limit func(from, until int64) int64) {
	most := b.slack()
	if most == 0 {
		return
	}
	wide := slices.DeleteFunc(slices.Clone(holds), func(h hold) bool { return h.until <= h.from })
	for i := range wide {
		wide[i].until += most
	}
	visit := func(first, second *hold) {
		apart := b.apart(first.by.Process, second.by.Process)
		if gap := second.from - (first.until - most); gap >= 0 && gap < apart {
			b.uncertain(first.by, second.by, apart)
		}
	}
	if limit == nil {
		eachOverlap(wide, visit)
		return
	}
	over := func(older, newer *history.Acquisition) bool { return b.believedUntil(older) <= newer.Returned }
	eachExcess(wide, limit, over, func(older, newer *hold, _, _, _, _ int64) {
		if older.from > newer.from {
			older, newer = newer, older
		}
		visit(older, newer)
	})
}

// open says how many pairs of holds are not judged because of their hosts' clocks; empty if there are none.
func (b *belief) open() string {
	if b.perhaps+b.leftOut == 0 {
		return ""
	}
	return fmt.Sprintf("%s of holds may have overlapped, or not, because the clocks of their hosts are only known to %s",
		count(b.perhaps+b.leftOut, "pair", "pairs"), millis(b.within))
}
