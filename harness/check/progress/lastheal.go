package progress

import (
	"fmt"

	"locklab/harness/check/evidence"
	"locklab/harness/history"
)

// lastHeal is the instant from which every fault is over, None if there was no fault; or it gives the doubts about
// whether there is such an instant.
func (l *LivenessJudge) lastHeal() (at int64, doubts []string) {
	at = history.None
	for _, f := range l.Faults {
		switch {
		case f.Injected == history.None:
		case f.Permanent:
			at = max(at, f.Injected)
		case f.Healed == history.None:
			doubts = append(doubts, f.String()+" was not healed")
		case f.HealVerified == history.None:
			doubts = append(doubts, "the heal of "+f.String()+" was not verified")
		default:
			at = max(at, f.Healed, f.HealVerified)
		}
	}
	if l.Final != nil && l.Final.Kind == history.OK && at != history.None {
		at = max(at, l.Final.At)
	} else if l.Final != nil && l.Final.Kind != history.OK {
		doubts = append(doubts, "not everything was healed in the end: "+l.Final.Leftovers())
	}
	if len(doubts) > 0 {
		at = history.None
	}
	return at, doubts
}

// gotAfter says how many of the clients got a lock after the last heal.
func (l *LivenessJudge) gotAfter(heal int64) string {
	clients, got := map[string]bool{}, map[string]bool{}
	for i := range l.Acquisitions {
		a := &l.Acquisitions[i]
		clients[a.Client] = true
		if a.Granted() && a.Returned >= heal {
			got[a.Client] = true
		}
	}
	return fmt.Sprintf("; %d of %d clients got a lock after the last heal", len(got), len(clients))
}

// afterHeal says why it is not known that lock recovered after the last heal: some client wanted it then, no client
// got it, and it was not free for long enough to be a stall.
func (l *LivenessJudge) afterHeal(lock string, all []*history.Acquisition, heal int64) []string {
	wanted, held := false, false
	for _, a := range all {
		if a.Granted() && a.Returned >= heal {
			return nil
		}
		_, until := l.Waited(a)
		wanted = wanted || until > heal
		held = held || a.Granted() && l.BelievedUntil(a) > heal
	}
	switch {
	case !wanted:
		return nil
	case held:
		return []string{fmt.Sprintf("no client got %s after the last heal, because its holder kept it", lock)}
	}
	return []string{
		fmt.Sprintf("no client got %s in the %s after the last heal, which is too short to tell: a stall takes %s",
			lock, evidence.Length(l.Stop-heal), evidence.Length(l.Bound)),
	}
}
