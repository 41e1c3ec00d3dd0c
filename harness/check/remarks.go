package check

import "locklab/harness/history"

// remarks says what a reader of the verdicts must know though it is no result of a check: that nothing contended,
// though several clients were to, and that clients waited for a lock in vain while others got it. A recipe that queues
// is held to its order ([livenessJudge.passedOver]); no other promises a client its turn.
func (d *digest) remarks() (all []string) {
	if !d.facts.Exclusive {
		return nil
	}
	asked, got := map[string]int{}, map[string]int{}
	grants := 0
	for i := range d.acquisitions {
		a := &d.acquisitions[i]
		asked[a.Client]++
		if a.Granted() {
			got[a.Client]++
			grants++
		}
	}
	starved := len(asked) - len(got)
	if starved > 0 && grants >= 2*len(asked) {
		all = append(all, count(int64(starved), "client", "clients")+" of "+count(int64(len(asked)), "client", "clients")+
			" never got a lock that they asked for, while the others got "+count(int64(grants), "grant", "grants"))
	}
	if max(len(asked), d.facts.Clients) > 1 && !d.contended() {
		all = append(all, "no client asked for a lock while another client had it or waited for it, so nothing put its "+
			"exclusion to the test")
	}
	return all
}

// contended reports whether a client asked for a lock while another one had it or waited for it.
func (d *digest) contended() bool {
	last := map[string]*history.Acquisition{} // by lock: the one that is over last
	until := map[string]int64{}
	for i := range d.acquisitions {
		a := &d.acquisitions[i]
		if last[a.Lock] != nil && last[a.Lock].Client != a.Client && a.Invoked < until[a.Lock] {
			return true
		}
		over := d.end
		switch {
		case a.Granted():
			over = d.believedUntil(a)
		case a.Returned != history.None:
			over = a.Returned
		case a.Died != history.None:
			over = a.Died
		}
		if last[a.Lock] == nil || over > until[a.Lock] {
			last[a.Lock], until[a.Lock] = a, over
		}
	}
	return false
}
