package check

import (
	"fmt"
	"slices"

	"locklab/ensembles/txnlog"
	"locklab/ensembles/txnlog/nodes"
	"locklab/harness/history"
)

// An explanation says why a holder could still believe that it held a lock after another client had been granted it.
type explanation struct {
	cause  string // the fault's, or CauseServer, CauseSlowClient, CauseAdministrator; CauseNone if there is none
	fault  *fault
	hiccup *history.Event
	zxids  []int64
	text   string // continues a sentence after "; "
	// doubt says why it is not known whether the fault explains it; empty if that is known.
	doubt string
}

func (x explanation) explained() bool { return x.cause != CauseNone }

// unsure reports whether there may be an explanation.
func (x explanation) unsure() bool { return x.doubt != "" }

// blamed is an explanation by a fault, or only a suspicion if nothing confirmed that the fault took effect.
func blamed(f *fault, text string) explanation {
	if !f.certain() {
		return suspected(f, text, "which was not verified")
	}
	return explanation{cause: f.cause(), fault: f, text: text}
}

func suspected(f *fault, text, doubt string) explanation {
	return explanation{cause: CauseNone, fault: f, text: text + ", " + doubt, doubt: doubt}
}

func unexplained(zxids []int64, format string, args ...any) explanation {
	return explanation{cause: CauseNone, zxids: zxids, text: fmt.Sprintf(format, args...)}
}

// explain says why newer could be granted the lock while older still believed that it held it. If there is no
// explanation, the recipe or the service is broken.
//
// That some fault was in force does not explain it. The service must have taken the lock from the one before it gave
// it to the other: by the servers' transactions where they were read, else by the tokens. And something must have kept
// older from its service for long enough: see [digest.expiryCause], and [digest.outage] where there are no
// transactions.
func (d *digest) explain(older, newer *history.Acquisition) explanation {
	if d.servers != nil && len(d.servers.doubts()) == 0 {
		return d.explainByServers(older, newer)
	}
	switch {
	case older.Token == 0 || newer.Token == 0:
		return unexplained(nil, "without tokens it cannot be explained")
	case newer == older:
		return unexplained(nil, "there are fewer permits than that")
	case newer.Token == older.Token:
		return unexplained(nil, "both have the same token")
	}
	if newer.Token < older.Token {
		return unexplained(nil, "no fault explains it")
	}
	f, doubt := d.outage(older, newer.Returned)
	switch {
	case f == nil:
		return unexplained(nil, "no fault explains it")
	case doubt != "":
		return suspected(f, d.struck(f, older, newer), doubt)
	}
	return blamed(f, d.struck(f, older, newer))
}

// struck says when a fault struck, in words.
func (d *digest) struck(f *fault, older, newer *history.Acquisition) string {
	from, _ := f.effect()
	s := fmt.Sprintf("%s struck %s before %s was granted it", f, seconds(newer.Returned-from), newer.Client)
	if t := d.timeout(older.Session); t > 0 {
		s += fmt.Sprintf(", %.2f of the session timeout", float64(newer.Returned-from)/float64(t))
	}
	return s
}

// explainByServers explains an overlap by the servers' transactions: older's znodes were gone before newer's was
// eligible. They were removed on behalf of somebody who is not a client, or their session ended because something had
// silenced it.
func (d *digest) explainByServers(older, newer *history.Acquisition) explanation {
	v := d.servers
	o, n := v.found[older], v.found[newer]
	switch {
	case newer == older:
		return unexplained(nil, "there are fewer permits than that")
	case o == nil || o.answer != nodes.Witnessed:
		return unexplained(nil, "by the servers' logs %s had no grant (see %s)", older.Client, ServiceExclusion)
	case n == nil || n.answer != nodes.Witnessed:
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
			return explanation{cause: CauseServer, zxids: append(zxids, c.Zxid), text: c.Text}
		}
		return unexplained(zxids, "%s was still there when %s's znode became eligible at zxid %s", o.spans[0].Name(),
			newer.Client, Zxid(from))
	}
	gone := fmt.Sprintf("its znode was gone at zxid %s (%s), before %s's became eligible at %s (%s)", Zxid(end.Zxid),
		seconds(v.clock.at(end.Time)), newer.Client, Zxid(from), seconds(v.clock.at(fromMs)))
	x := d.ended(older, path, end)
	if x.fault != nil {
		if x.text = d.struck(x.fault, older, newer); x.unsure() {
			x.text += ", " + x.doubt
		}
	}
	x.zxids = append(zxids, x.zxids...)
	x.text += "; " + gone
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
	if c := d.servers.contradiction(older.Session, path); c != nil && !x.explained() {
		return explanation{cause: CauseServer, zxids: []int64{c.Zxid}, text: c.Text}
	}
	return x
}

func (d *digest) endedBy(older *history.Acquisition, end *nodes.End) explanation {
	s := d.servers.History.Sessions[int64(older.Session)]
	switch {
	case end.Cause == txnlog.CloseSession && s != nil && s.Expired:
		return d.expiryCause(older, end)
	case end.Cause == txnlog.CloseSession:
		// It was closed with its own id and password: by its client, or in its name.
		if f := d.administered(older, end); f != nil {
			return blamed(f, f.String())
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
	at, err := d.servers.clock.at(end.Time), d.servers.clock.err
	return d.blame(func(f *fault) bool {
		return f.nature.Cause == CauseAdministrator && f.began()-2*err <= at && at <= f.seen()+2*err && f.ends(end.Cause) &&
			(f.nature.DeletesAll || f.hitsClient(older))
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
