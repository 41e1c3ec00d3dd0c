package evidence

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"locklab/ensembles/txnlog"
	"locklab/ensembles/txnlog/nodes"
	"locklab/harness/history"
)

// An Explanation says why a holder could still believe that it held a lock after another client had been granted it.
type Explanation struct {
	Loser  string // the client that lost its hold
	Cause  string // the fault's, or one of the Cause constants; CauseNone if there is none
	Fault  *Fault
	Hiccup *history.Event
	Zxids  []int64
	Text   string // continues a sentence after "; "
	// doubt says why it is not known whether the fault explains it; empty if that is known.
	doubt string
	// Open says that the record cannot attribute it to anything, so that it accuses nobody.
	Open bool
	// Told is by when the holder must have learned of its loss; math.MaxInt64 if nothing tells it.
	Told int64
	// surely is by when it must have learned of that unless something kept it that is a doubt; 0 if that is not known.
	surely int64
}

func (x Explanation) Explained() bool { return x.Cause != CauseNone }

// Unsure reports whether there may be an explanation.
func (x Explanation) Unsure() bool { return x.doubt != "" || x.Open }

// blamed is an explanation by a fault, or only a suspicion if the fault may not have done it: see [Fault.doubt].
func blamed(f *Fault, text string, timeout int64) Explanation {
	if doubt := f.doubt(timeout); doubt != "" {
		return suspected(f, text, doubt)
	}
	return Explanation{Cause: f.Cause(), Fault: f, Text: text, Told: math.MaxInt64}
}

func suspected(f *Fault, text, doubt string) Explanation {
	return Explanation{Cause: CauseNone, Fault: f, Text: text + ", " + doubt, doubt: doubt, Told: math.MaxInt64}
}

func Unexplained(zxids []int64, format string, args ...any) Explanation {
	return Explanation{Cause: CauseNone, Zxids: zxids, Text: fmt.Sprintf(format, args...)}
}

// notAttributable is what there is to say where the record does not show which hold the service ended, or when.
func notAttributable(format string, args ...any) Explanation {
	return Explanation{Cause: CauseNone, Open: true, Told: math.MaxInt64,
		Text: "not attributable, because " + fmt.Sprintf(format, args...)}
}

// Explain says why newer could be granted the lock while older still believed that it held it, and why older went on
// believing until an instant. If there is no explanation, the recipe or the service is broken.
//
// That some fault was in force does not explain it. The service must have taken the lock from the one before it gave
// it to the other: by the servers' transactions where they were read, else by the tokens. And something must have kept
// older from its service for long enough: see [Digest.expiryCause], and [Digest.Outage] where there are no
// transactions. Once that is over, older must have learned of its loss in time: see [Digest.ToldBy].
//
// Where it is not known which znodes are whose, the end of the holder's session takes the place of the znode's: see
// [Digest.explainBySessions].
func (d *Digest) Explain(older, newer *history.Acquisition, until int64) Explanation {
	x := d.Taken(older, newer)
	if (x.Explained() || x.Unsure()) && until > x.Told {
		return Unexplained(x.Zxids, "%s; but %s believed in its hold until %s, and must have learned by %s that it was lost",
			x.Text, older.Client, Seconds(until), Seconds(x.Told))
	}
	return x.Until(until)
}

// Taken says why the service took the lock from older before it gave it to newer.
func (d *Digest) Taken(older, newer *history.Acquisition) Explanation {
	x := d.findTaken(older, newer)
	if x.Loser == "" {
		x.Loser = older.Client
	}
	return x
}

func (d *Digest) findTaken(older, newer *history.Acquisition) Explanation {
	switch {
	case newer == older:
		return Unexplained(nil, "there are fewer permits than that")
	case d.unreleased[older] && !d.usedAtOnce(older, newer) || d.unreleased[newer] && !d.usedAtOnce(newer, older):
		return notAttributable("the record lacks the end of a hold")
	case d.Servers != nil && d.Transactions.Whole():
		return d.explainByServers(older, newer)
	case older.Session != 0 && older.Session == newer.Session && d.administeredWithin(older, newer) == nil:
		return Unexplained(nil, "both are of session %s, which loses nothing to itself", older.Session)
	case d.overBefore(older) || d.overBefore(newer):
		return Unexplained(nil, "by the servers' logs one of the sessions had ended before its acquire was called")
	case older.Token == 0 || newer.Token == 0:
		return d.explainBySessions(older, newer)
	case newer.Token == older.Token:
		return Unexplained(nil, "both have the same token")
	case newer.Token < older.Token:
		return Unexplained(nil, "no fault explains it")
	case d.Transactions.Whole() && older.Session != 0:
		return d.explainBySessions(older, newer)
	}
	if f := d.administeredWithin(older, newer); f != nil {
		x := blamed(f, "", 0)
		if !f.Nature.DeletesZnodes {
			x.tell(d, older, f.Seen())
		}
		return d.struck(x, older, newer)
	}
	if d.Transactions.Whole() && !d.someSessionEnded(older, newer.Returned) {
		return Unexplained(nil, "by the servers' logs no session of its own ended before %s was granted it", newer.Client)
	}
	return d.struck(d.Outage(older, newer.Returned), older, newer)
}

// overBefore reports whether, by the servers' logs, a was granted in a session that had ended before a was called for.
func (d *Digest) overBefore(a *history.Acquisition) bool {
	if !d.Transactions.Whole() {
		return false
	}
	end := d.SessionEnd(a.Session)
	return end != nil && d.Transactions.Clock.At(end.Time)+d.Transactions.Clock.Err < a.Invoked
}

// someSessionEnded reports whether a session that is not known to be another client's may have ended between a's call
// and an instant, by the servers' logs.
func (d *Digest) someSessionEnded(a *history.Acquisition, until int64) bool {
	c := d.Transactions.Clock
	for _, s := range d.Transactions.History.Sessions {
		others := d.ClientsOf[history.SessionID(s.ID)]
		if at := c.At(s.ClosedTime); s.Closed != 0 && at+c.Err >= a.Invoked && at-c.Err <= until &&
			(len(others) == 0 || others[a.Client]) {
			return true
		}
	}
	return false
}

// explainBySessions explains an overlap of two holds by the end of a session: the service took the lock from the one
// whose session it ended before the other's acquire returned. Without tokens, that may be either of the two. Where the
// transactions of the servers do not tell when sessions ended, an overlap that a fault may explain is not attributable;
// nor is one of a hold without a known session. But in calm nothing explains anything.
func (d *Digest) explainBySessions(first, second *history.Acquisition) Explanation {
	if !d.Transactions.Whole() {
		switch {
		case first.Session == 0 || second.Session == 0:
			return d.unlessCalm(first, second, "there are neither tokens nor known sessions")
		case d.perhapsLost(first, second) || d.perhapsLost(second, first):
			return notAttributable("there are no tokens, and the servers' transactions do not tell when sessions ended")
		}
		return d.unseenLoss(first, second, Unexplained(nil, "no fault explains it"))
	}
	pairs := [][2]*history.Acquisition{{first, second}, {second, first}}
	if first.Token != 0 && second.Token != 0 {
		pairs = pairs[:1]
	}
	for _, pair := range pairs {
		older, newer := pair[0], pair[1]
		end := d.SessionEnd(older.Session)
		if end == nil || d.Transactions.Clock.At(end.Time)-d.Transactions.Clock.Err > newer.Returned {
			continue
		}
		if x := d.never.Of(older, func() *Explanation { return d.neverGranted(older, end) }); x != nil {
			return *x
		}
		x := d.struck(d.Ended(older, "", end), older, newer)
		x.Loser = older.Client
		x.Zxids = append([]int64{end.Zxid}, x.Zxids...)
		x.Text += fmt.Sprintf("; session %s of %s had ended at zxid %s (%s), before %s's acquire returned", older.Session,
			older.Client, Zxid(end.Zxid), Seconds(d.Transactions.Clock.At(end.Time)), newer.Client)
		return x
	}
	for _, pair := range pairs {
		if a := pair[0]; a.Session == 0 || d.Transactions.History.Sessions[int64(a.Session)] == nil {
			return d.unlessCalm(first, second, fmt.Sprintf("the servers' logs do not have the session of %s", a.Client))
		}
	}
	for _, pair := range pairs {
		if f := d.administeredWithin(pair[0], pair[1]); f != nil {
			return d.struck(blamed(f, "", 0), pair[0], pair[1])
		}
	}
	if len(pairs) == 1 {
		return Unexplained(nil, "by the servers' logs session %s of %s was alive when %s was granted it", first.Session,
			first.Client, second.Client)
	}
	return Unexplained(nil, "the sessions of both were alive when they were granted it")
}

// unlessCalm says that an overlap is not attributable, for a reason. But if no fault was in force that can have cost
// one of the holders its session, and neither of them stood still, nothing explains it.
func (d *Digest) unlessCalm(first, second *history.Acquisition, why string) Explanation {
	if d.Disturbed(first.Lock, min(first.Invoked, second.Invoked), max(first.Returned, second.Returned), first.Process,
		second.Process) {
		return notAttributable("%s", why)
	}
	return d.unseenLoss(first, second, Unexplained(nil, "nothing was in force that could explain it"))
}

// LostUntold explains how a can have lost its hold before its acquire returned.
func (d *Digest) LostUntold(a *history.Acquisition) Explanation {
	if at, end := d.EndAtServers(a); end != nil && at-2*d.Transactions.Clock.Err <= a.Returned {
		if x := d.neverGranted(a, end); x != nil {
			return *x
		}
		if x := d.Ended(a, "", end); x.Explained() || x.Unsure() {
			return x
		}
	}
	if f := d.administeredWithin(a, a); f != nil {
		return blamed(f, f.String(), 0)
	}
	if s := d.Transactions; s.Whole() && s.History.Sessions[int64(a.Session)] != nil {
		return Unexplained(nil, "by the servers' logs its session was alive")
	}
	return d.Outage(a, a.Returned)
}

// perhapsLost reports whether something may have cost older its hold before newer's acquire returned.
func (d *Digest) perhapsLost(older, newer *history.Acquisition) bool {
	x := d.Outage(older, newer.Returned)
	return x.Explained() || x.Unsure() && !x.Unseen() || d.administeredWithin(older, newer) != nil
}

// SessionEnd is the transaction that ended a session, nil if none is known.
func (d *Digest) SessionEnd(session history.SessionID) *nodes.End {
	s := d.Transactions.History.Sessions[int64(session)]
	if session == 0 || s == nil || s.Closed == 0 {
		return nil
	}
	return &nodes.End{Zxid: s.Closed, Time: s.ClosedTime, Cause: txnlog.CloseSession, By: s.ID}
}

// struck says in x's words when its fault struck.
func (d *Digest) struck(x Explanation, older, newer *history.Acquisition) Explanation {
	if x.Fault == nil {
		return x
	}
	from, _ := x.Fault.Effect()
	x.Text = fmt.Sprintf("%s struck %s before %s was granted it", x.Fault, Length(newer.Returned-from), newer.Client)
	if t := d.Timeout(older.Session); t > 0 {
		x.Text += fmt.Sprintf(", %.2f of the session timeout", float64(newer.Returned-from)/float64(t))
	}
	if x.doubt != "" {
		x.Text += ", " + x.doubt
	}
	return x
}

// explainByServers explains an overlap by the servers' transactions: older's znodes were gone before newer's was
// eligible. They were removed on behalf of somebody who is not a client, or their session ended because something had
// silenced it.
func (d *Digest) explainByServers(older, newer *history.Acquisition) Explanation {
	v := d.Servers
	o, n := v.Proof(older), v.Proof(newer)
	switch {
	case o.Answer != nodes.Witnessed:
		return Unexplained(nil, "by the servers' logs %s had no grant (see %s)", older.Client, ServiceExclusion)
	case n.Answer != nodes.Witnessed:
		return Unexplained(nil, "by the servers' logs %s had no grant (see %s)", newer.Client, ServiceExclusion)
	}
	end := o.End()
	from, fromMs := n.From()
	zxids := []int64{o.Spans[0].Czxid}
	if end != nil {
		zxids = append(zxids, end.Zxid)
	}
	zxids = append(zxids, from)
	path := o.Spans[0].Path
	if end == nil || end.Zxid > from {
		if c := v.Contradiction(older.Session, path); c != nil {
			return Explanation{Cause: CauseServer, Zxids: append(zxids, c.Zxid), Text: c.Text, Told: math.MaxInt64}
		}
		return Unexplained(zxids, "%s was still there when %s's znode became eligible at zxid %s", o.Spans[0].Name(),
			newer.Client, Zxid(from))
	}
	x := d.struck(d.Ended(older, path, end), older, newer)
	x.Zxids = append(zxids, x.Zxids...)
	x.Text += fmt.Sprintf("; its znode was gone at zxid %s (%s), before %s's became eligible at %s (%s)", Zxid(end.Zxid),
		Seconds(v.Clock.At(end.Time)), newer.Client, Zxid(from), Seconds(v.Clock.At(fromMs)))
	return x
}

// Ended says why older's znodes, one of which is at path, ended while older believed that it held the lock. Servers
// that contradict themselves about the znodes or their session are to blame for what nothing else explains, but not
// for what a client asked them to do.
func (d *Digest) Ended(older *history.Acquisition, path string, end *nodes.End) Explanation {
	x := d.endedBy(older, path, end)
	if end.Cause != txnlog.CloseSession &&
		(end.By == int64(older.Session) || d.ClientOf[history.SessionID(end.By)] != "") {
		return x
	}
	if c := d.Transactions.Contradiction(older.Session, path); c != nil && !x.Explained() {
		return Explanation{Cause: CauseServer, Zxids: []int64{c.Zxid}, Text: c.Text, Told: math.MaxInt64}
	}
	return x
}

func (d *Digest) endedBy(older *history.Acquisition, path string, end *nodes.End) Explanation {
	s := d.Transactions.History.Sessions[int64(older.Session)]
	switch {
	case end.Cause == txnlog.CloseSession && s != nil && s.Expired:
		return d.expiryCause(older, end)
	case end.Cause == txnlog.CloseSession:
		// It was closed with its own id and password: by its client, or in its name.
		if f := d.administered(older, path, end); f != nil {
			x := blamed(f, f.String(), 0)
			x.tell(d, older, d.Transactions.Clock.At(end.Time))
			return x
		}
		return Unexplained(nil, "its session was closed by a request, and did not expire")
	case end.By == int64(older.Session):
		return Unexplained(nil, "its own session deleted its znode")
	case d.ClientOf[history.SessionID(end.By)] != "":
		return Unexplained(nil, "%s deleted its znode", d.Whose(end.By))
	}
	stranger := fmt.Sprintf("%s, which belongs to no client, deleted its znode", d.Whose(end.By))
	if f := d.administered(older, path, end); f != nil {
		return blamed(f, stranger, 0)
	}
	return Unexplained(nil, "%s, and no fault explains that", stranger)
}

// administered returns the fault that closed older's session, or deleted its znode at path, as an administrator would;
// nil if there is none. Something confirmed that the fault did so, unless it is only [Fault.possible].
func (d *Digest) administered(older *history.Acquisition, path string, end *nodes.End) *Fault {
	at, err := d.Transactions.Clock.At(end.Time), d.Transactions.Clock.Err
	return d.blame(0, func(f *Fault) bool {
		return f.Nature.Cause == CauseAdministrator && f.Began()-2*err <= at && at <= f.Seen()+2*err && f.ends(end.Cause) &&
			(f.Nature.DeletesAll || f.HitsClient(older)) && f.did(path)
	})
}

// administeredWithin returns the fault that ended older's session, or deleted its znodes, as an administrator would,
// while older was held and before newer's acquire returned; nil if there is none. A session that was used later had not
// ended.
func (d *Digest) administeredWithin(older, newer *history.Acquisition) *Fault {
	lived := d.usedAfter(older, newer.Returned) != history.None
	granted, _ := d.calmGrant(older, silencesOnly)
	return d.blame(0, func(f *Fault) bool {
		return (f.Nature.EndsSessions && !lived || f.Nature.DeletesZnodes) && f.Began() <= newer.Returned+d.Slack() &&
			f.Seen()+d.Slack() >= granted && (f.Nature.DeletesAll || f.HitsClient(older)) &&
			f.did(older.Lock)
	})
}

// HitsClient reports whether the fault is known to have been aimed at an acquisition's session or its client, or at no
// client in particular.
func (f *Fault) HitsClient(a *history.Acquisition) bool {
	if f.session != 0 {
		return f.session == a.Session
	}
	return len(f.Targets) == 0 || f.Hits(a.Process) || slices.Contains(f.Targets, a.Client)
}

// did reports whether the fault can have been done to the znode at path, or below it: of a fault that deleted znodes,
// the record says which. Anything may have been done where the path is not known.
func (f *Fault) did(path string) bool {
	if !f.Nature.DeletesZnodes || f.Done == "" || path == "" {
		return true
	}
	return slices.ContainsFunc(strings.Fields(f.Done), func(gone string) bool {
		return gone == path || strings.HasPrefix(path, gone+"/") || strings.HasPrefix(gone, path+"/")
	})
}

// feltBy reports whether a fault may have been in force between two instants for one of some processes. A fault of
// servers that lets heartbeats through is felt by those that the process was connected to, and if it is of the leader.
func (d *Digest) feltBy(f *Fault, from, until int64, processes []string) bool {
	_, healed := f.Effect()
	switch {
	case !f.Possible() || f.Began()-d.Slack() > until || healed < from:
		return false
	case slices.ContainsFunc(processes, f.Hits):
		return true
	case d.OnlyClients(f):
		return false
	case !f.Passes(d.LongestTimeout()) || f.StrikesLeader() || f.hampersLeader() || len(f.Targets) == 0:
		return true
	}
	return slices.ContainsFunc(processes, func(p string) bool {
		used := d.serversOf(p)
		return used[""] || len(used) == 0 || slices.ContainsFunc(f.Targets, func(s string) bool { return used[s] })
	})
}

// serversOf are the servers that the sessions of a process were connected to, "" among them if one is not known.
func (d *Digest) serversOf(process string) map[string]bool {
	return d.servers.Of(process, func() map[string]bool {
		used := map[string]bool{}
		for session, all := range d.sessions {
			if history.HostOf(d.ClientOf[session]) != process {
				continue
			}
			for _, c := range all {
				used[c.server] = true
			}
		}
		return used
	})
}

// Disturbed reports whether something may have cost one of some processes a session, or the use of a lock, between
// two instants: a fault of theirs or of a server, in force then or over for no longer than it takes until the session
// has expired or its client is heard again; a standstill of theirs; or servers that did not serve.
func (d *Digest) Disturbed(lock string, from, until int64, processes ...string) bool {
	return d.disturbedSince(from, until, disturbs(lock), processes...) != math.MaxInt64
}

// silencesOnly reports whether a fault can cost a client its session, and deletes nothing.
func silencesOnly(f *Fault) bool { return f.silences() && !f.Nature.DeletesZnodes }

// disturbs returns whether a fault can cost a client its session, or the use of a lock.
func disturbs(lock string) func(*Fault) bool {
	return func(f *Fault) bool { return silencesOnly(f) || f.Nature.DeletesZnodes && f.did(lock) }
}

// disturbedSince is when the first of what disturbed the processes between two instants had begun, by the faults that
// count; the end of time if nothing did.
func (d *Digest) disturbedSince(from, until int64, counts func(*Fault) bool, processes ...string) int64 {
	first, since := int64(math.MaxInt64), from
	if t := d.LongestTimeout(); t > 0 {
		since -= t + 2*int64(d.Facts.Tick) + d.Slack()
	}
	for _, f := range d.Faults {
		if counts(f) && d.feltBy(f, since, until, processes) {
			first = min(first, f.Began()-d.Slack())
		}
	}
	for _, p := range processes {
		for _, e := range d.Hiccups[p] {
			began := e.At - int64(e.Hiccup())
			if e.Hiccup() >= Standstill(d.Facts.Tick) && began <= until && e.At >= since {
				first = min(first, began)
			}
		}
	}
	for _, s := range d.ServersStood() {
		if s.From <= until && s.Until >= from {
			first = min(first, s.From)
		}
	}
	return first
}
