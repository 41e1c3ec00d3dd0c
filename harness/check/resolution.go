package check

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"locklab/ensembles/txnlog/nodes"
	"locklab/harness/check/evidence"
	"locklab/harness/check/progress"
	"locklab/harness/history"
)

// The fates of an operation whose answer is not known.
const (
	FateGranted = "granted" // its znode was eligible, so the service had granted it
	FateQueued  = "queued"  // its znode was there, and never eligible
	FateNever   = "never"   // it left nothing at the servers
	FateDeleted = "deleted" // of a release: the znode is gone
	FateThere   = "there"   // of a release: the znode was there until the run's end
)

// A Resolution is what the servers' transactions say about an acquire or release whose client got no certain answer.
// Its client was not told and cannot be, but what the operation did is known.
type Resolution struct {
	Client string     `json:"client"`
	Lock   string     `json:"lock"`
	N      int64      `json:"acquisition"`
	Op     history.Op `json:"op"`
	Fate   string     `json:"fate"`
	// Attempt is what the names of its znodes begin with, as the client recorded it before it asked for them.
	Attempt string `json:"attempt,omitempty"`
	// Znode is the znode's path; Zxid is the number of the transaction that settled the matter.
	Znode string `json:"znode,omitempty"`
	Zxid  string `json:"zxid,omitempty"`
	Text  string `json:"text"`
}

// resolutions finds what became of every operation of unknown outcome; nil where the servers' transactions are not
// complete.
//
// The znode of an unknown acquire is known by the GUID in its name, which the client recorded before it asked. An
// acquire that failed for a reason other than the workload's is resolved by it too, because its failure may be a lost
// answer. Where the client recorded none (the recipe's names have none, or the recipe is a foreign command), a znode
// belongs to an unknown acquire if it is of its session and of the lock's layout, if no other acquisition has it, and
// if it was created after the call and before the client's next one: a request that is on its way may be carried out
// long after the client gave up.
//
// The session may have sent the create at any time until it ended. So it is not said of a session that had not ended
// when the logs were copied that it left nothing.
func resolutions(d *evidence.Digest) []Resolution {
	v := d.Servers
	if v == nil || len(v.DoubtedBecause()) > 0 {
		return nil
	}
	var all []Resolution
	tries := attempts(d)
	type caller struct{ client, lock string }
	next := map[caller]int64{} // when a client next called for a lock
	for i := range slices.Backward(d.Acquisitions) {
		a := &d.Acquisitions[i]
		tried := tries[attempted{a.Client, a.Lock, a.N}]
		by := caller{a.Client, a.Lock}
		until, again := next[by]
		if !again {
			until = math.MaxInt64
		}
		next[by] = a.Invoked
		switch {
		case a.Unknown() || progress.FailedByItself(a) && len(tried) > 0:
			if r, ok := resolveAcquire(d, a, tried, until); ok {
				all = append(all, r)
			}
		case a.Granted() && a.ReleaseInvoked != history.None &&
			(a.ReleaseReturned == history.None || a.ReleaseOutcome == history.Info):
			if r, ok := resolveRelease(d, a); ok {
				all = append(all, r)
			}
		}
	}
	slices.Reverse(all)
	return all
}

// An attempted is an acquisition, by what the events of its attempts have.
type attempted struct {
	client, lock string
	n            int64
}

// attempts are the beginnings of names that clients recorded before they asked for znodes, by acquisition. Those of
// acquisitions that need no resolution are left out.
func attempts(d *evidence.Digest) map[attempted][]string {
	all := map[attempted][]string{}
	for i := range d.Acquisitions {
		if a := &d.Acquisitions[i]; a.Unknown() || progress.FailedByItself(a) {
			all[attempted{a.Client, a.Lock, a.N}] = nil
		}
	}
	if len(all) == 0 {
		return all
	}
	for _, e := range d.Events.Of(history.OpAttempt) {
		if e.Attempt() != "" {
			k := attempted{e.Client, e.Lock, e.Acq}
			if tried, wanted := all[k]; wanted {
				all[k] = append(tried, e.Attempt())
			}
		}
	}
	return all
}

// resolveTried finds what became of the znodes that an acquire asked for; false if nothing did.
func resolveTried(d *evidence.Digest, a *history.Acquisition, tried []string, r *Resolution) bool {
	if len(tried) == 0 {
		return false
	}
	for _, c := range d.Servers.Named(a.Lock, tried) {
		k := slices.IndexFunc(tried, func(prefix string) bool { return strings.HasPrefix(c.Name(), prefix) })
		if r.Fate != FateGranted {
			r.Attempt = tried[k]
			became(d, a, c, r)
		}
	}
	return r.Fate != FateNever
}

// became says what became of an acquire whose znode is c.
func became(d *evidence.Digest, a *history.Acquisition, c *nodes.Contender, r *Resolution) {
	r.Fate, r.Znode, r.Zxid = FateQueued, c.Path, evidence.Zxid(c.Czxid)
	r.Text = fmt.Sprintf("%s's acquire at %s was queued at zxid %s: %s", a.Client, evidence.Seconds(a.Invoked),
		evidence.Zxid(c.Czxid), d.Describe(c))
	for s := range d.Servers.SpansOf(a.Lock, c.Life) {
		r.Fate, r.Zxid = FateGranted, evidence.Zxid(s.From)
		r.Text = fmt.Sprintf("%s's acquire at %s was granted at zxid %s, but no client was told: %s", a.Client,
			evidence.Seconds(a.Invoked), evidence.Zxid(s.From), d.Describe(c))
		return
	}
}

// resolveAcquire resolves an acquire that recorded these attempts, if any, and whose client made its next call at that
// time.
func resolveAcquire(d *evidence.Digest, a *history.Acquisition, tried []string, next int64) (Resolution, bool) {
	v := d.Servers
	r := Resolution{Client: a.Client, Lock: a.Lock, N: a.N, Op: history.OpAcquire, Fate: FateNever}
	if resolveTried(d, a, tried, &r) {
		if a.Outcome == history.Fail {
			r.Text += "; the acquire failed: " + a.Error
		}
		return r, true
	}
	session := cmp.Or(a.Session, d.SessionAt(a.Client, a.Invoked))
	if s := v.History.Sessions[int64(session)]; session == 0 || s == nil || s.Closed == 0 {
		return r, false
	}
	if len(tried) > 0 {
		r.Attempt = tried[len(tried)-1]
		r.Text = fmt.Sprintf("%s's acquire at %s left no znode whose name begins with %s", a.Client,
			evidence.Seconds(a.Invoked), strings.Join(tried, " or "))
		return r, true
	}
	lane := v.Lanes[a.Lock]
	r.Text = fmt.Sprintf("%s's acquire at %s left no znode of session %s", a.Client, evidence.Seconds(a.Invoked), session)
	for i := range lane.Contenders {
		c := &lane.Contenders[i]
		created := v.Clock.At(c.Created)
		if c.Owner != int64(session) || v.UsedBy(c.Life) != nil || created < a.Invoked-v.Clock.Err ||
			created > next-v.Clock.Err {
			continue
		}
		if became(d, a, c, &r); r.Fate == FateGranted {
			break
		}
	}
	return r, true
}

func resolveRelease(d *evidence.Digest, a *history.Acquisition) (Resolution, bool) {
	w := d.Servers.Proof(a)
	r := Resolution{Client: a.Client, Lock: a.Lock, N: a.N, Op: history.OpRelease, Fate: FateThere}
	if len(w.Spans) == 0 {
		return r, false
	}
	r.Znode = w.Spans[0].Path
	r.Text = fmt.Sprintf("%s's release at %s did not remove %s during the run", a.Client,
		evidence.Seconds(a.ReleaseInvoked), w.Spans[0].Name())
	if end := w.End(); end != nil {
		r.Fate, r.Zxid = FateDeleted, evidence.Zxid(end.Zxid)
		r.Text = fmt.Sprintf("after %s's release at %s, %s was gone at zxid %s (%v by %s)", a.Client,
			evidence.Seconds(a.ReleaseInvoked), w.Spans[0].Name(), evidence.Zxid(end.Zxid), end.Cause, d.Whose(end.By))
	}
	return r, true
}
