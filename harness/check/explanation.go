package check

import (
	"fmt"
	"math"
	"slices"

	"locklab/ensembles/txnlog"
	"locklab/ensembles/txnlog/nodes"
	"locklab/harness/history"
)

// An explanation says why a holder could still believe that it held a lock after another client had been granted it.
type explanation struct {
	loser  string // the client that lost its hold
	cause  string // the fault's, or one of the Cause constants; CauseNone if there is none
	fault  *fault
	hiccup *history.Event
	zxids  []int64
	text   string // continues a sentence after "; "
	// doubt says why it is not known whether the fault explains it; empty if that is known.
	doubt string
	// open says that the record cannot attribute it to anything, so that it accuses nobody.
	open bool
	// told is by when the holder must have learned of its loss; math.MaxInt64 if nothing tells it.
	told int64
}

func (x explanation) explained() bool { return x.cause != CauseNone }

// unsure reports whether there may be an explanation.
func (x explanation) unsure() bool { return x.doubt != "" || x.open }

// blamed is an explanation by a fault, or only a suspicion if nothing confirmed that the fault took effect.
func blamed(f *fault, text string) explanation {
	if !f.certain() {
		return suspected(f, text, notVerified)
	}
	return explanation{cause: f.cause(), fault: f, text: text, told: math.MaxInt64}
}

func suspected(f *fault, text, doubt string) explanation {
	return explanation{cause: CauseNone, fault: f, text: text + ", " + doubt, doubt: doubt, told: math.MaxInt64}
}

func unexplained(zxids []int64, format string, args ...any) explanation {
	return explanation{cause: CauseNone, zxids: zxids, text: fmt.Sprintf(format, args...)}
}

// notAttributable is what there is to say where the record does not show which hold the service ended, or when.
func notAttributable(format string, args ...any) explanation {
	return explanation{cause: CauseNone, open: true, told: math.MaxInt64,
		text: "not attributable, because " + fmt.Sprintf(format, args...)}
}

// explain says why newer could be granted the lock while older still believed that it held it, and why older went on
// believing until an instant. If there is no explanation, the recipe or the service is broken.
//
// That some fault was in force does not explain it. The service must have taken the lock from the one before it gave
// it to the other: by the servers' transactions where they were read, else by the tokens. And something must have kept
// older from its service for long enough: see [digest.expiryCause], and [digest.outage] where there are no
// transactions. Once that is over, older must have learned of its loss in time: see [digest.toldBy].
//
// Where grants have no tokens and it is not known which znodes are theirs, the end of the holder's session takes the
// place of the znode's: see [digest.explainBySessions].
func (d *digest) explain(older, newer *history.Acquisition, until int64) explanation {
	x := d.taken(older, newer)
	if (x.explained() || x.unsure()) && until > x.told {
		return unexplained(x.zxids, "%s; but %s believed in its hold until %s, and must have learned by %s that it was lost",
			x.text, older.Client, seconds(until), seconds(x.told))
	}
	return x
}

// taken says why the service took the lock from older before it gave it to newer.
func (d *digest) taken(older, newer *history.Acquisition) explanation {
	x := d.findTaken(older, newer)
	if x.loser == "" {
		x.loser = older.Client
	}
	return x
}

func (d *digest) findTaken(older, newer *history.Acquisition) explanation {
	switch {
	case newer == older:
		return unexplained(nil, "there are fewer permits than that")
	case d.servers != nil && d.transactions.whole():
		return d.explainByServers(older, newer)
	case older.Token == 0 || newer.Token == 0:
		return d.explainBySessions(older, newer)
	case newer.Token == older.Token:
		return unexplained(nil, "both have the same token")
	case newer.Token < older.Token:
		return unexplained(nil, "no fault explains it")
	}
	if f := d.administeredWithin(older, newer); f != nil {
		return d.struck(blamed(f, ""), older, newer)
	}
	return d.struck(d.outage(older, newer.Returned), older, newer)
}

// explainBySessions explains an overlap of two holds that have no tokens to say which was granted first. The service
// took the lock from the one whose session it ended before the other's acquire returned. Where the transactions of the
// servers do not tell when sessions ended, an overlap that a fault may explain is not attributable; nor is one of a
// hold without a known session.
func (d *digest) explainBySessions(first, second *history.Acquisition) explanation {
	if !d.transactions.whole() {
		switch {
		case first.Session == 0 || second.Session == 0:
			return notAttributable("there are neither tokens nor known sessions")
		case d.perhapsLost(first, second) || d.perhapsLost(second, first):
			return notAttributable("there are no tokens, and the servers' transactions do not tell when sessions ended")
		}
		return unexplained(nil, "no fault explains it")
	}
	for _, pair := range [...][2]*history.Acquisition{{first, second}, {second, first}} {
		older, newer := pair[0], pair[1]
		end := d.sessionEnd(older.Session)
		if end == nil || d.transactions.clock.at(end.Time)-d.transactions.clock.err > newer.Returned {
			continue
		}
		x := d.struck(d.ended(older, "", end), older, newer)
		x.loser = older.Client
		x.zxids = append([]int64{end.Zxid}, x.zxids...)
		x.text += fmt.Sprintf("; session %s of %s had ended at zxid %s (%s), before %s's acquire returned", older.Session,
			older.Client, Zxid(end.Zxid), seconds(d.transactions.clock.at(end.Time)), newer.Client)
		return x
	}
	for _, a := range [...]*history.Acquisition{first, second} {
		if a.Session == 0 || d.transactions.History.Sessions[int64(a.Session)] == nil {
			return notAttributable("the hold of %s has neither a token nor a known session", a.Client)
		}
	}
	for _, pair := range [...][2]*history.Acquisition{{first, second}, {second, first}} {
		if f := d.administeredWithin(pair[0], pair[1]); f != nil {
			return d.struck(blamed(f, ""), pair[0], pair[1])
		}
	}
	return unexplained(nil, "the sessions of both were alive when they were granted it")
}

// lostUntold explains how a can have lost its hold before its acquire returned.
func (d *digest) lostUntold(a *history.Acquisition) explanation {
	if at, end := d.gone(a); end != nil && at <= a.Returned {
		if x := d.ended(a, "", end); x.explained() || x.unsure() {
			return x
		}
	}
	if f := d.administeredWithin(a, a); f != nil {
		return blamed(f, f.String())
	}
	return d.outage(a, a.Returned)
}

// perhapsLost reports whether something may have cost older its hold before newer's acquire returned.
func (d *digest) perhapsLost(older, newer *history.Acquisition) bool {
	x := d.outage(older, newer.Returned)
	return x.explained() || x.unsure() || d.administeredWithin(older, newer) != nil
}

// sessionEnd is the transaction that ended a session, nil if none is known.
func (d *digest) sessionEnd(session history.SessionID) *nodes.End {
	s := d.transactions.History.Sessions[int64(session)]
	if session == 0 || s == nil || s.Closed == 0 {
		return nil
	}
	return &nodes.End{Zxid: s.Closed, Time: s.ClosedTime, Cause: txnlog.CloseSession, By: s.ID}
}

// struck says in x's words when its fault struck.
func (d *digest) struck(x explanation, older, newer *history.Acquisition) explanation {
	if x.fault == nil {
		return x
	}
	from, _ := x.fault.effect()
	x.text = fmt.Sprintf("%s struck %s before %s was granted it", x.fault, length(newer.Returned-from), newer.Client)
	if t := d.timeout(older.Session); t > 0 {
		x.text += fmt.Sprintf(", %.2f of the session timeout", float64(newer.Returned-from)/float64(t))
	}
	if x.doubt != "" {
		x.text += ", " + x.doubt
	}
	return x
}

// explainByServers explains an overlap by the servers' transactions: older's znodes were gone before newer's was
// eligible. They were removed on behalf of somebody who is not a client, or their session ended because something had
// silenced it.
func (d *digest) explainByServers(older, newer *history.Acquisition) explanation {
	v := d.servers
	o, n := v.proof(older), v.proof(newer)
	switch {
	case o.answer != nodes.Witnessed:
		return unexplained(nil, "by the servers' logs %s had no grant (see %s)", older.Client, ServiceExclusion)
	case n.answer != nodes.Witnessed:
		return unexplained(nil, "by the servers' logs %s had no grant (see %s)", newer.Client, ServiceExclusion)
	}
	end := o.end()
	from, fromMs := n.from()
	zxids := []int64{o.spans[0].Czxid}
	if end != nil {
		zxids = append(zxids, end.Zxid)
	}
	zxids = append(zxids, from)
	path := o.spans[0].Path
	if end == nil || end.Zxid > from {
		if c := v.contradiction(older.Session, path); c != nil {
			return explanation{cause: CauseServer, zxids: append(zxids, c.Zxid), text: c.Text, told: math.MaxInt64}
		}
		return unexplained(zxids, "%s was still there when %s's znode became eligible at zxid %s", o.spans[0].Name(),
			newer.Client, Zxid(from))
	}
	x := d.struck(d.ended(older, path, end), older, newer)
	x.zxids = append(zxids, x.zxids...)
	x.text += fmt.Sprintf("; its znode was gone at zxid %s (%s), before %s's became eligible at %s (%s)", Zxid(end.Zxid),
		seconds(v.clock.at(end.Time)), newer.Client, Zxid(from), seconds(v.clock.at(fromMs)))
	return x
}

// ended says why older's znodes, one of which is at path, ended while older believed that it held the lock. Servers
// that contradict themselves about the znodes or their session are to blame for what nothing else explains, but not
// for what a client asked them to do.
func (d *digest) ended(older *history.Acquisition, path string, end *nodes.End) explanation {
	x := d.endedBy(older, end)
	if end.Cause != txnlog.CloseSession &&
		(end.By == int64(older.Session) || d.clientOf[history.SessionID(end.By)] != "") {
		return x
	}
	if c := d.transactions.contradiction(older.Session, path); c != nil && !x.explained() {
		return explanation{cause: CauseServer, zxids: []int64{c.Zxid}, text: c.Text, told: math.MaxInt64}
	}
	return x
}

func (d *digest) endedBy(older *history.Acquisition, end *nodes.End) explanation {
	s := d.transactions.History.Sessions[int64(older.Session)]
	switch {
	case end.Cause == txnlog.CloseSession && s != nil && s.Expired:
		return d.expiryCause(older, end)
	case end.Cause == txnlog.CloseSession:
		// It was closed with its own id and password: by its client, or in its name.
		if f := d.administered(older, end); f != nil {
			x := blamed(f, f.String())
			x.told = d.toldBy(older, d.transactions.clock.at(end.Time))
			return x
		}
		return unexplained(nil, "its session was closed by a request, and did not expire")
	case end.By == int64(older.Session):
		return unexplained(nil, "its own session deleted its znode")
	case d.clientOf[history.SessionID(end.By)] != "":
		return unexplained(nil, "%s deleted its znode", d.whose(end.By))
	}
	stranger := fmt.Sprintf("%s, which belongs to no client, deleted its znode", d.whose(end.By))
	if f := d.administered(older, end); f != nil {
		return blamed(f, stranger)
	}
	return unexplained(nil, "%s, and no fault explains that", stranger)
}

// administered returns the fault that closed older's session, or deleted its znode, as an administrator would; nil if
// there is none. Something confirmed that the fault did so, unless it is only [fault.possible].
func (d *digest) administered(older *history.Acquisition, end *nodes.End) *fault {
	at, err := d.transactions.clock.at(end.Time), d.transactions.clock.err
	return d.blame(func(f *fault) bool {
		return f.nature.Cause == CauseAdministrator && f.began()-2*err <= at && at <= f.seen()+2*err && f.ends(end.Cause) &&
			(f.nature.DeletesAll || f.hitsClient(older))
	})
}

// administeredWithin returns the fault that ended older's session, or deleted its znodes, as an administrator would,
// while older was held and before newer's acquire returned; nil if there is none.
func (d *digest) administeredWithin(older, newer *history.Acquisition) *fault {
	return d.blame(func(f *fault) bool {
		return (f.nature.EndsSessions || f.nature.DeletesZnodes) && f.began() <= newer.Returned+d.slack() &&
			f.seen()+d.slack() >= older.Invoked && (f.nature.DeletesAll || f.hitsClient(older))
	})
}

// hitsClient reports whether the fault is known to have been aimed at an acquisition's session or its client, or at no
// client in particular.
func (f *fault) hitsClient(a *history.Acquisition) bool {
	if f.session != 0 {
		return f.session == a.Session
	}
	return len(f.targets) == 0 || f.hits(a.Process) || slices.Contains(f.targets, a.Client)
}

// zxidWords renders the numbers of transactions, each of them once.
func zxidWords(all []int64) []string {
	var words []string
	for _, z := range all {
		if w := Zxid(z); z != 0 && !slices.Contains(words, w) {
			words = append(words, w)
		}
	}
	return words
}
