package effect

import (
	"slices"

	"locklab/harness/check/evidence"
	"locklab/harness/history"
)

// countDamage counts a damage. What it took away counts only if it was acknowledged to somebody.
func countDamage(h evidence.Harms, why evidence.Explanation, m *damage, acknowledged bool) {
	switch to := h.Of(why); {
	case why.Unsure():
		to.Unsure++
	case !why.Explained():
	case m.lost == 0:
		to.StaleAccepted++
	case acknowledged:
		to.LostUpdates += m.lost
	}
}

// AddHarms gives each fault that was injected the harm that both checks put down to it. It gives none if one of them
// could not read the record.
func AddHarms(d *evidence.Digest, records []FaultRecord, believed, done *evidence.Verdict) {
	if believed == nil || done == nil || believed.Harms == nil || done.Harms == nil {
		return
	}
	gaveUp, holders := gaveUpValid(d), holdersAt(d)
	for i := range records {
		r := &records[i]
		if r.InjectedNs == nil {
			continue
		}
		sum, of := evidence.Harm{}, map[string]evidence.Harm{}
		for _, all := range []evidence.Harms{believed.Harms, done.Harms} {
			for by, h := range all {
				if by.Fault == r.ID {
					sum.Add(h)
					client := of[by.Client]
					client.Add(h)
					of[by.Client] = client
				}
			}
		}
		if valid, known := gaveUp[r.ID]; known {
			sum.GivenUpValid = &valid
		}
		r.Harm = &sum
		for _, client := range holders[r.ID] {
			r.Holders = append(r.Holders, HolderHarm{Client: client, Harm: of[client]})
		}
	}
}

// holdersAt returns, by fault, the clients that held a lock when the fault struck the server that they were connected
// to.
func holdersAt(d *evidence.Digest) map[string][]string {
	var struck []*evidence.Fault
	for _, f := range d.Faults {
		server := func(host string) bool { return !d.ClientHosts[host] }
		if f.Injected != history.None && slices.ContainsFunc(f.Targets, server) {
			struck = append(struck, f)
		}
	}
	if len(struck) == 0 {
		return nil // a long run has many acquisitions
	}
	holders := map[string][]string{}
	for i := range d.Acquisitions {
		a := &d.Acquisitions[i]
		for _, f := range struck {
			held := a.Granted() && a.Returned <= f.Injected && d.BelievedUntil(a) > f.Injected
			if held && f.Hits(d.ServerAt(a.Session, f.Injected)) && !slices.Contains(holders[f.ID], a.Client) {
				holders[f.ID] = append(holders[f.ID], a.Client)
			}
		}
	}
	return holders
}

// gaveUpValid reports, by fault, whether the client that stopped itself for it gave up that hold while the servers
// still had it. It has only faults with triggers, and none if the servers' transactions do not tell.
func gaveUpValid(d *evidence.Digest) map[string]bool {
	type struckHold struct {
		client string
		acq    int64
	}
	by, valid := map[struckHold]string{}, map[string]bool{}
	for _, f := range d.Faults {
		if f.Trigger != nil {
			by[struckHold{f.Trigger.Client, f.Trigger.Acq}], valid[f.ID] = f.ID, false
		}
	}
	if len(by) == 0 {
		return nil // a long run has many accesses
	}
	gone := goneBy(d)
	if gone == nil {
		return nil
	}
	for _, e := range d.Events.Of(history.OpRead, history.OpWrite) {
		if e.Kind != history.Fail {
			continue
		}
		fault, struck := by[struckHold{e.Client, e.Acq}]
		if struck && e.Process == history.HostOf(e.Client) && e.Access().GivenUp() && !gone(&e) {
			valid[fault] = true
		}
	}
	return valid
}
