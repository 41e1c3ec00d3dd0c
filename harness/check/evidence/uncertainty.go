package evidence

import (
	"fmt"
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
//     overlap nor none. It is left out if the servers' transactions show that it was a hand-off ([Digest.handedOver]),
//     and otherwise the verdict is unknown, unless it fails by others and a fault explains this one as well.
//   - Tokens, fairness, refusals, hand-offs, conditions under sometimes, and late and stale accesses of clients'
//     records: pairs whose order is uncertain prove nothing. Those that would accuse somebody make the verdict unknown
//     or are left out.
//   - Faults, sessions and stalls: bounds that clients and servers must keep are longer, and those that a fault must
//     reach to explain something are shorter, by as much as any two hosts may be off ([Digest.slack]). That a fault
//     struck a holder must be certain.
//   - Service exclusion: servers' transactions have times of the leader's wall clock, which may differ from the
//     harness's too. All of it is part of the error with which they are placed ([Placement]).
//   - What is exact: the order of the resource's record, of each client's own, and of the servers' transactions.
//
// If the readings of a clock contradict each other, or leave more open than [stepped], the run's assumptions do not
// hold, and the run is unknown.

// Apart is by how much the times of two hosts may be off each other because they have different clocks.
func (d *Digest) Apart(p, q string) int64 { return d.Events.Clocks().Apart(p, q) }

// Slack is by how much the times of any two hosts may be off each other.
func (d *Digest) Slack() int64 { return d.Events.Clocks().Worst() }

// Unplaced says which hosts' clocks leave too much open.
func (d *Digest) Unplaced() []string {
	reasons := d.Events.Clocks().Broken()
	for _, u := range d.Events.Clocks().Uncertain() {
		if u.Err > stepped {
			reasons = append(reasons, fmt.Sprintf("the clock of %s is placed only within %s, and nothing is proved by more "+
				"than %s", strings.Join(u.Hosts, ", "), Millis(u.Err), Millis(stepped)))
		}
	}
	return reasons
}

// placedWithin says how closely other clocks are placed on the run's; empty if there are none.
func (d *Digest) placedWithin() string {
	var parts []string
	for _, u := range d.Events.Clocks().Uncertain() {
		parts = append(parts, fmt.Sprintf("%s within %s", strings.Join(u.Hosts, ", "), Millis(u.Err)))
	}
	if len(parts) == 0 {
		return ""
	}
	return "; clocks of other machines are placed on the run's: " + strings.Join(parts, "; ")
}

// HandedOver reports whether older had called release before newer's acquire returned, whatever their clocks show: by
// the servers' transactions, older's own session deleted its znode, in a release that succeeded, before newer's became
// eligible.
func (d *Digest) HandedOver(older, newer *history.Acquisition) bool {
	if d.Servers == nil || !d.Transactions.Whole() || older.ReleaseInvoked == history.None || !EndedCleanly(older) {
		return false
	}
	o, n := d.Servers.Proof(older), d.Servers.Proof(newer)
	if o.Answer != nodes.Witnessed || n.Answer != nodes.Witnessed {
		return false
	}
	end := o.end()
	from, _ := n.From()
	return end != nil && end.Cause != txnlog.CloseSession && end.By == int64(older.Session) && end.Zxid <= from
}
