package check

import (
	"fmt"
	"math"
	"slices"
	"strings"

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

// blamed is an explanation by a fault, or only a suspicion if the fault may not have done it: see [fault.doubt].
func blamed(f *fault, text string, timeout int64) explanation {
	if doubt := f.doubt(timeout); doubt != "" {
		return suspected(f, text, doubt)
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
// Where it is not known which znodes are whose, the end of the holder's session takes the place of the znode's: see
// [digest.explainBySessions].
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
	case d.transactions.whole() && older.Session != 0:
		return d.explainBySessions(older, newer)
	}
	if f := d.administeredWithin(older, newer); f != nil {
		return d.struck(blamed(f, "", 0), older, newer)
	}
	return d.struck(d.outage(older, newer.Returned), older, newer)
}

// explainBySessions explains an overlap of two holds by the end of a session: the service took the lock from the one
// whose session it ended before the other's acquire returned. Without tokens, that may be either of the two. Where the
// transactions of the servers do not tell when sessions ended, an overlap that a fault may explain is not attributable;
// nor is one of a hold without a known session. But in calm nothing explains anything.
func (d *digest) explainBySessions(first, second *history.Acquisition) explanation {
	if !d.transactions.whole() {
		switch {
		case first.Session == 0 || second.Session == 0:
			return d.unlessCalm(first, second, "there are neither tokens nor known sessions")
		case d.perhapsLost(first, second) || d.perhapsLost(second, first):
			return notAttributable("there are no tokens, and the servers' transactions do not tell when sessions ended")
		}
		return unexplained(nil, "no fault explains it")
	}
	pairs := [][2]*history.Acquisition{{first, second}, {second, first}}
	if first.Token != 0 && second.Token != 0 {
		pairs = pairs[:1]
	}
	for _, pair := range pairs {
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
	for _, pair := range pairs {
		if a := pair[0]; a.Session == 0 || d.transactions.History.Sessions[int64(a.Session)] == nil {
			return d.unlessCalm(first, second, fmt.Sprintf("the servers' logs do not have the session of %s", a.Client))
		}
	}
	for _, pair := range pairs {
		if f := d.administeredWithin(pair[0], pair[1]); f != nil {
			return d.struck(blamed(f, "", 0), pair[0], pair[1])
		}
	}
	if len(pairs) == 1 {
		return unexplained(nil, "by the servers' logs session %s of %s was alive when %s was granted it", first.Session,
			first.Client, second.Client)
	}
	return unexplained(nil, "the sessions of both were alive when they were granted it")
}

// unlessCalm says that an overlap is not attributable, for a reason. But if no fault was in force that can have cost
// one of the holders its session, and neither of them stood still, nothing explains it.
func (d *digest) unlessCalm(first, second *history.Acquisition, why string) explanation {
	if d.disturbed(min(first.Invoked, second.Invoked), max(first.Returned, second.Returned), first.Process,
		second.Process) {
		return notAttributable("%s", why)
	}
	return unexplained(nil, "nothing was in force that could explain it")
}

// lostUntold explains how a can have lost its hold before its acquire returned.
func (d *digest) lostUntold(a *history.Acquisition) explanation {
	if at, end := d.gone(a); end != nil && at <= a.Returned {
		if x := d.ended(a, "", end); x.explained() || x.unsure() {
			return x
		}
	}
	if f := d.administeredWithin(a, a); f != nil {
		return blamed(f, f.String(), 0)
	}
	if s := d.transactions; s.whole() && s.History.Sessions[int64(a.Session)] != nil {
		return unexplained(nil, "by the servers' logs its session was alive")
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
	x := d.endedBy(older, path, end)
	if end.Cause != txnlog.CloseSession &&
		(end.By == int64(older.Session) || d.clientOf[history.SessionID(end.By)] != "") {
		return x
	}
	if c := d.transactions.contradiction(older.Session, path); c != nil && !x.explained() {
		return explanation{cause: CauseServer, zxids: []int64{c.Zxid}, text: c.Text, told: math.MaxInt64}
	}
	return x
}

func (d *digest) endedBy(older *history.Acquisition, path string, end *nodes.End) explanation {
	s := d.transactions.History.Sessions[int64(older.Session)]
	switch {
	case end.Cause == txnlog.CloseSession && s != nil && s.Expired:
		return d.expiryCause(older, end)
	case end.Cause == txnlog.CloseSession:
		// It was closed with its own id and password: by its client, or in its name.
		if f := d.administered(older, path, end); f != nil {
			x := blamed(f, f.String(), 0)
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
	if f := d.administered(older, path, end); f != nil {
		return blamed(f, stranger, 0)
	}
	return unexplained(nil, "%s, and no fault explains that", stranger)
}

// administered returns the fault that closed older's session, or deleted its znode at path, as an administrator would;
// nil if there is none. Something confirmed that the fault did so, unless it is only [fault.possible].
func (d *digest) administered(older *history.Acquisition, path string, end *nodes.End) *fault {
	at, err := d.transactions.clock.at(end.Time), d.transactions.clock.err
	return d.blame(0, func(f *fault) bool {
		return f.nature.Cause == CauseAdministrator && f.began()-2*err <= at && at <= f.seen()+2*err && f.ends(end.Cause) &&
			(f.nature.DeletesAll || f.hitsClient(older)) && f.did(path)
	})
}

// administeredWithin returns the fault that ended older's session, or deleted its znodes, as an administrator would,
// while older was held and before newer's acquire returned; nil if there is none.
func (d *digest) administeredWithin(older, newer *history.Acquisition) *fault {
	return d.blame(0, func(f *fault) bool {
		return (f.nature.EndsSessions || f.nature.DeletesZnodes) && f.began() <= newer.Returned+d.slack() &&
			f.seen()+d.slack() >= older.Invoked && (f.nature.DeletesAll || f.hitsClient(older)) && f.did(older.Lock)
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

// did reports whether the fault can have been done to the znode at path, or below it: of a fault that deleted znodes,
// the record says which. Anything may have been done where the path is not known.
func (f *fault) did(path string) bool {
	if !f.nature.DeletesZnodes || f.done == "" || path == "" {
		return true
	}
	return slices.ContainsFunc(strings.Fields(f.done), func(gone string) bool {
		return gone == path || strings.HasPrefix(path, gone+"/") || strings.HasPrefix(gone, path+"/")
	})
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
