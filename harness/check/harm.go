package check

import (
	"slices"

	"locklab/harness/history"
)

// Harm is what the checks put down to one fault. Unlike findings, these counts have no upper limit.
type Harm struct {
	// Overlaps are the pairs of holds that clients believed in at once because of the fault.
	Overlaps int64 `json:"overlaps"`
	// StaleAccepted are the outdated accesses that the resource accepted; of a lock without tokens, the uses of the
	// resource at once.
	StaleAccepted int64 `json:"stale_accepted"`
	// LostUpdates are the acknowledged updates that were written over.
	LostUpdates int64 `json:"lost_updates"`
	// GivenUpValid says that a fault with a trigger made its victim give up the hold although the servers still had it.
	// It is nil if the servers' transactions do not tell.
	GivenUpValid *bool `json:"given_up_valid"`
	// Unsure counts overlaps and damages that the fault may have caused. The other counts leave them out.
	Unsure int64 `json:"unsure"`
}

// harms are the harm of faults.
type harms map[harmed]*Harm

// A harmed is a client that lost a hold because of a fault.
type harmed struct{ fault, client string }

// of returns what is to be counted for an explanation: nothing if no fault is part of it.
func (h harms) of(why explanation) *Harm {
	if why.fault == nil {
		return &Harm{}
	}
	by := harmed{why.fault.ID, why.loser}
	m := h[by]
	if m == nil {
		m = &Harm{}
		h[by] = m
	}
	return m
}

// overlap counts an overlap.
func (h harms) overlap(why explanation) {
	switch m := h.of(why); {
	case why.unsure():
		m.Unsure++
	case why.explained():
		m.Overlaps++
	}
}

// damage counts a damage. What it took away counts only if it was acknowledged to somebody.
func (h harms) damage(why explanation, m *damage, acknowledged bool) {
	switch to := h.of(why); {
	case why.unsure():
		to.Unsure++
	case !why.explained():
	case m.lost == 0:
		to.StaleAccepted++
	case acknowledged:
		to.LostUpdates += m.lost
	}
}

// addHarms gives each fault that was injected the harm that both checks put down to it. It gives none if one of them
// could not read the record.
func (d *digest) addHarms(records []FaultRecord, believed, done *Verdict) {
	if believed == nil || done == nil || believed.harms == nil || done.harms == nil {
		return
	}
	gaveUp, holders := d.gaveUpValid(), d.holdersAt()
	for i := range records {
		r := &records[i]
		if r.InjectedNs == nil {
			continue
		}
		sum, of := Harm{}, map[string]Harm{}
		for _, all := range []harms{believed.harms, done.harms} {
			for by, h := range all {
				if by.fault == r.ID {
					sum.add(h)
					client := of[by.client]
					client.add(h)
					of[by.client] = client
				}
			}
		}
		if valid, known := gaveUp[r.ID]; known {
			sum.GivenUpValid = &valid
		}
		r.Harm = &sum
		for _, client := range holders[r.ID] {
			r.Holders = append(r.Holders, HolderHarm{client, of[client]})
		}
	}
}

// add adds another harm's counts.
func (h *Harm) add(other *Harm) {
	h.Overlaps += other.Overlaps
	h.StaleAccepted += other.StaleAccepted
	h.LostUpdates += other.LostUpdates
	h.Unsure += other.Unsure
}

// HolderHarm is what the checks put down to one fault and one client that held a lock when it struck.
type HolderHarm struct {
	Client string `json:"client"`
	Harm
}

// holdersAt returns, by fault, the clients that held a lock when the fault struck the server that they were connected
// to.
func (d *digest) holdersAt() map[string][]string {
	var struck []*fault
	for _, f := range d.faults {
		server := func(host string) bool { return !d.clientHosts[host] }
		if f.Injected != history.None && slices.ContainsFunc(f.targets, server) {
			struck = append(struck, f)
		}
	}
	if len(struck) == 0 {
		return nil // a long run has many acquisitions
	}
	holders := map[string][]string{}
	for i := range d.acquisitions {
		a := &d.acquisitions[i]
		for _, f := range struck {
			held := a.Granted() && a.Returned <= f.Injected && d.believedUntil(a) > f.Injected
			if held && f.hits(d.serverAt(a.Session, f.Injected)) && !slices.Contains(holders[f.ID], a.Client) {
				holders[f.ID] = append(holders[f.ID], a.Client)
			}
		}
	}
	return holders
}

// gaveUpValid reports, by fault, whether the client that stopped itself for it gave up that hold while the servers
// still had it. It has only faults with triggers, and none if the servers' transactions do not tell.
func (d *digest) gaveUpValid() map[string]bool {
	type struckHold struct {
		client string
		acq    int64
	}
	by, valid := map[struckHold]string{}, map[string]bool{}
	for _, f := range d.faults {
		if f.trigger != nil {
			by[struckHold{f.trigger.Client, f.trigger.Acq}], valid[f.ID] = f.ID, false
		}
	}
	if len(by) == 0 {
		return nil // a long run has many accesses
	}
	gone := d.goneBy()
	if gone == nil {
		return nil
	}
	for _, e := range d.events.Of(history.OpRead, history.OpWrite) {
		if e.Kind != history.Fail {
			continue
		}
		fault, struck := by[struckHold{e.Client, e.Acq}]
		if struck && e.Process == hostOf(e.Client) && e.Access().GivenUp() && !gone(&e) {
			valid[fault] = true
		}
	}
	return valid
}
