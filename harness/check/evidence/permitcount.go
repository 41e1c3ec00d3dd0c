package evidence

import (
	"math"
	"slices"
	"time"

	"locklab/ensembles/txnlog/nodes"
	"locklab/harness/check/spans"
	"locklab/harness/history"
)

// A permitCount is how many permits a semaphore may have had, and when. The number can change during a run, and the
// servers change it at some instant between the call and its confirmation.
type permitCount []permitChange

// A permitChange is a number of permits that may have been in force from the call that set it until the next number
// was confirmed.
type permitChange struct{ from, until, permits int64 }

// permitCounts returns the numbers of permits of each lock that was resized. A lock that was never resized has
// [Facts.Permits] throughout.
//
// A call that was not confirmed may have had an effect at any time since, or none, so the number before it remains
// possible as well. A record from before calls were recorded has only confirmations: a number is then possible since
// the confirmation before.
func permitCounts(events *history.Log, begin int64) map[string]permitCount {
	counts := map[string]permitCount{}
	asked := map[string]int64{} // by lock: since when the change that is under way may have had an effect
	for _, e := range events.Of(history.OpResize) {
		c := counts[e.Lock]
		if c == nil {
			c = permitCount{{math.MinInt64, math.MaxInt64, begin}}
			asked[e.Lock] = math.MinInt64
		}
		if e.Kind == history.Invoke {
			asked[e.Lock] = e.At
			counts[e.Lock] = append(c, permitChange{e.At, math.MaxInt64, e.NewPermits()})
			continue
		}
		for k := range c {
			c[k].until = min(c[k].until, e.At)
		}
		counts[e.Lock] = append(c, permitChange{asked[e.Lock], math.MaxInt64, e.NewPermits()})
		asked[e.Lock] = e.At
	}
	return counts
}

// most is the highest number that may have been in force at an instant of [from, until].
func (c permitCount) most(from, until int64) int64 {
	var most int64
	for _, p := range c {
		if p.from <= until && p.until >= from {
			most = max(most, p.permits)
		}
	}
	return most
}

// MostPermits is the highest number of permits that lock may have had at an instant of [from, until], as far as clocks
// tell; 0 if it is not known.
func (d *Digest) MostPermits(lock string, from, until int64) int64 {
	if c := d.permits[lock]; c != nil && d.Facts.Permits > 0 {
		off := d.Slack()
		return c.most(Later(from, -off), Later(until, off))
	}
	return int64(d.Facts.Permits)
}

// GrantedSince is the earliest instant at which a can have been granted permits of a lock whose number of them changed.
//
// By the servers' transactions, that is when the last of its leases was created. Where they do not tell, a client
// decides by what its servers answer. It leaves one that does not answer within 2/3 of its session timeout, and asks
// the next one again; and if it does not reach that in time, its session is over and its leases are gone. So in calm,
// a client is told of a grant within [StallBound], as it is of a loss.
//
// Otherwise a can have been granted since it was called for: where a fault, a standstill or a lost connection may have
// made the client begin anew; where the timeout is not known; and where the client had to wait for other locks that it
// took together with this one.
//
// Where nobody would have seen a standstill of a's driver ([Digest.Driver]), since is when a was called for, and awake
// is the earliest instant if the driver did not stand still. Elsewhere both are the same.
func (d *Digest) GrantedSince(a *history.Acquisition) (since, awake int64) {
	if d.permits[a.Lock] == nil {
		return a.Invoked, a.Invoked // at any instant there are as many
	}
	if d.Servers != nil && d.Transactions.Whole() {
		if w := d.Servers.Proof(a); w.Answer == nodes.Witnessed {
			at := a.Invoked
			for _, s := range w.Spans {
				at = max(at, d.Transactions.Clock.At(s.Created)-d.Transactions.Clock.Err)
			}
			at = min(at, a.Returned)
			return at, at
		}
	}
	if d.TakenTogether()[a] {
		return a.Invoked, a.Invoked
	}
	return d.calmGrant(a, disturbs(a.Lock))
}

// calmGrant is the earliest instant at which a can have been granted a lock, as [Digest.GrantedSince] has it, where
// only some faults count. What disturbed its client may have made it begin anew, so it can have been granted as long
// before that as in calm.
func (d *Digest) calmGrant(a *history.Acquisition, counts func(*Fault) bool) (since, awake int64) {
	t := d.Timeout(a.Session)
	if !a.Granted() || t == 0 {
		return a.Invoked, a.Invoked
	}
	within := int64(StallBound(time.Duration(t), d.Facts.Tick)) + d.Slack()
	awake = max(a.Returned-within, a.Invoked)
	for awake > a.Invoked {
		first := d.disturbedSince(awake, a.Returned, counts, a.Process)
		for _, s := range d.Unconnected[a.Client] {
			if s.From <= a.Returned && s.Until >= awake {
				first = min(first, s.From)
			}
		}
		if first >= awake {
			break
		}
		awake = max(first-within, a.Invoked)
	}
	if d.Driver(a) != "" {
		return a.Invoked, awake
	}
	return awake, awake
}

// FewestPermits is the lowest number of permits that lock may have had at an instant of [from, until], as far as clocks
// tell.
func (d *Digest) FewestPermits(lock string, from, until int64) int64 {
	if d.permits[lock] == nil {
		return int64(d.Facts.Permits)
	}
	fewest := int64(math.MaxInt64)
	for _, p := range d.PermitPeriods(lock) {
		if p.From <= Later(until, d.Slack()) && p.Until >= Later(from, -d.Slack()) {
			fewest = min(fewest, p.Permits)
		}
	}
	return fewest
}

// A PermitPeriod is a time throughout which a lock had at least so many permits.
type PermitPeriod struct {
	spans.Span
	Permits int64
}

// PermitPeriods are the periods of a run, in order and without a gap, in each of which the same numbers of permits may
// have been in force.
func (d *Digest) PermitPeriods(lock string) []PermitPeriod {
	return d.periods.Of(lock, func() []PermitPeriod { return d.permitPeriods(lock) })
}

func (d *Digest) permitPeriods(lock string) (all []PermitPeriod) {
	counts := d.permits[lock]
	if counts == nil {
		return []PermitPeriod{{spans.Span{From: math.MinInt64, Until: math.MaxInt64}, int64(d.Facts.Permits)}}
	}
	var bounds []int64
	for _, p := range counts {
		bounds = append(bounds, p.from, p.until)
	}
	slices.Sort(bounds)
	bounds = slices.Compact(bounds)
	for i, until := range bounds[1:] {
		p := PermitPeriod{spans.Span{From: bounds[i], Until: until}, math.MaxInt64}
		for _, c := range counts {
			if c.from < until && c.until > bounds[i] {
				p.Permits = min(p.Permits, c.permits)
			}
		}
		all = append(all, p)
	}
	return all
}
