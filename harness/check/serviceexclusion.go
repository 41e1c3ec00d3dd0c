package check

import (
	"fmt"
	"strings"

	"locklab/ensembles/txnlog"
	"locklab/ensembles/txnlog/nodes"
	"locklab/harness/history"
)

// ServiceExclusion names the check that this file defines.
const ServiceExclusion = "service-exclusion"

var serviceExclusionCheck = Check{
	Name: ServiceExclusion,
	Asks: "did the servers back every hold? Each grant must have a znode of its own session that was " +
		"eligible during the acquire call, by the servers' transaction logs, and the znode must be there for " +
		"as long as its client believes that it holds the lock, or until a client that lost its session must " +
		"have learned of that. Unknown where the logs are incomplete or come from no majority; n/a where the " +
		"lock's znodes are not known, or where the recipe promises no exclusion",
	Subject: "what the servers granted",
	judge:   judgeServiceExclusion,
}

// judgeServiceExclusion asks the servers' transaction logs whether the service backed what clients were told, and for
// how long.
//
// By the rule of a lock's layout, in the order of transactions, no two contenders that exclude each other are ever
// eligible together, nor more leases than permits. So the servers cannot have let two clients hold a lock at once. What
// can happen is that a client believes in a grant that they did not give:
//
//   - The grant has no znode, or that of another session, or of another grant, or fewer leases than permits.
//   - The grant came before its znode was eligible, or after it was gone: at no instant of the acquire call was it
//     there and eligible.
//   - The hold outlived its znode. It may do so if its session expired, or was closed in its name, until its client
//     must have learned of that ([digest.toldBy]), and if a fault deleted the znode as an administrator would. It may
//     not do so if a client deleted the znode, be it by mistake for its own or with the lock's directory.
//
// A release that succeeded although the hold had ended before is counted apart, because it harms nobody by itself.
//
// A transaction is placed on the run's clock by the time when the leader prepared it, which is before it took effect,
// and by the relation of the clocks, with its error in the client's favour.
//
// The check does not apply where there were no logs, or to a recipe that promises nothing. Where the lock's znodes are
// not known, it only finds holds that outlived their sessions: no client must go on believing for longer than it takes
// to be told. It is unknown where the logs
// are not complete, because the contenders are only known if all transactions are.
func judgeServiceExclusion(d *digest, s *Safety) Verdict {
	log := d.facts.Servers
	switch {
	case !d.facts.Exclusive && (log == nil || log.Layout == ""): // no lock at all
		return Verdict{Result: NotApplicable, Summary: "the recipe promises no exclusion that servers could back"}
	case log == nil:
		return Verdict{Result: NotApplicable, Summary: "needs the servers' transaction logs, which were not read"}
	case log.Missing != "":
		return Verdict{Result: Unknown, Summary: "needs the servers' transaction logs: " + log.Missing}
	case d.transactions == nil:
		return Verdict{Result: Unknown, Summary: "the servers' clock cannot be placed: the history has no reading of it"}
	}
	b := backing{digest: d, kinds: map[Kind]int64{}}
	for _, l := range d.locks {
		for _, a := range l.grants {
			b.release(a)
		}
	}
	if d.transactions.whole() {
		s.LostUnreported = &b.unreported
	}
	for _, l := range d.locks {
		for _, a := range l.grants {
			b.grant(a)
		}
	}
	unbacked := b.count - b.kinds[KindHoldOutlivedZnode]
	outlived := b.kinds[KindHoldOutlivedZnode]
	if d.servers != nil {
		s.UnbackedGrants, s.OutlivedZnodes = &unbacked, &outlived
	}

	v := Verdict{Count: b.count, Findings: append(b.findings, b.told...)}
	doubts := d.transactions.doubts()
	backed := fmt.Sprintf("each of %s had an eligible znode of its own for as long as it lasted",
		count(b.grants, "grant", "grants"))
	switch {
	case d.servers == nil && log.Layout != "" && v.Count == 0:
		v.setf(Unknown, "the sessions of %s are not known, so nothing is known of their znodes (a lock's command says its "+
			"session with opened ID)", count(d.sessionsUnsaid(), "grant", "grants"))
	case d.servers == nil && v.Count == 0:
		v.setf(NotApplicable, "it is not known by which znodes the lock's clients contend")
	case len(doubts) > 0 && v.Count > 0:
		v.setf(Unknown, "%s, but %s", b.what(), strings.Join(doubts, "; "))
	case b.byServer > 0 && b.byServer == v.Count:
		v.setf(Unknown, "%s, where the servers contradict themselves: %s", b.what(), v.Findings[0].Text)
	case v.Count > 0:
		v.setf(Fail, "%s, of %s: %s", b.what(), count(b.grants, "grant", "grants"), v.Findings[0].Text)
		v.Violation = d.facts.Exclusive
	case b.grants == 0:
		v.setf(Unknown, "no client got a lock")
	case len(doubts) > 0:
		v.setf(Unknown, "%s, but %s", backed, strings.Join(doubts, "; "))
	case b.doubt != "":
		v.setf(Unknown, "%s that may have outlived a znode, the first: %s", count(b.unsure, "hold", "holds"), b.doubt)
	case !d.whole:
		v.setf(Unknown, "%s, but the history is not complete", backed)
	default:
		v.setf(Pass, "%s, by the logs of %s from zxid %s to %s", backed, strings.Join(log.Servers, ", "),
			Zxid(log.History.First), Zxid(log.History.Last))
	}
	v.Summary += b.toldOK()
	return v
}

// A backing is what the servers say about the grants judged so far.
type backing struct {
	*digest
	grants, count, byServer int64
	kinds                   map[Kind]int64 // of what is wrong
	findings                []Finding

	unsure int64  // holds that may have outlived their znodes
	doubt  string // the first of them

	unreported int64 // releases that succeeded after their hold had ended
	told       []Finding
}

// whatKinds are the kinds of findings in words, for one and for many.
var whatKinds = [...]struct {
	kind      Kind
	one, many string
}{
	{KindGrantWithoutZnode, "grant without a znode", "grants without a znode"},
	{KindGrantOfAnotherSession, "grant with another session's znode", "grants with another session's znode"},
	{KindGrantBeforeEligible, "grant before its znode was eligible", "grants before their znode was eligible"},
	{KindGrantAfterZnode, "grant after its znode was gone", "grants after their znodes were gone"},
	{KindGrantShortOfLeases, "grant of more permits than it had leases", "grants of more permits than they had leases"},
	{KindGrantSharesZnode, "grant with the znode of another grant", "grants with the znode of another grant"},
	{KindHoldOutlivedZnode, "hold that outlived its znode", "holds that outlived their znodes"},
}

// what counts what was found, by kind.
func (b *backing) what() string {
	var parts []string
	for _, k := range whatKinds {
		if n := b.kinds[k.kind]; n > 0 {
			parts = append(parts, count(n, k.one, k.many))
		}
	}
	return strings.Join(parts, " and ")
}

func (b *backing) toldOK() string {
	if b.unreported == 0 {
		return ""
	}
	return "; " + count(b.unreported, "release", "releases") +
		" succeeded although the hold had ended at the servers before"
}

// grant judges one grant, and the hold that it began. Where its znodes are not known, they ended with its session at
// the latest.
func (b *backing) grant(a *history.Acquisition) {
	b.grants++
	var w proof
	end := b.sessionEnd(a.Session)
	if b.servers != nil {
		if w = b.servers.proof(a); w.answer != nodes.Witnessed || w.shared != nil {
			b.add(a, &w, b.unbacked(a, &w))
			return
		}
		end = w.firstEnd()
	}
	if end == nil || !b.transactions.whole() {
		return
	}
	at, until := b.transactions.clock.at(end.Time)+b.transactions.clock.err, b.believedUntil(a)
	x, allowed := b.outlives(a, &w, end, at, until)
	switch {
	case until <= allowed:
	case x.unsure() && until <= x.told:
		if b.unsure++; b.doubt == "" {
			b.doubt = b.outlived(a, end, until, allowed, x).Text
		}
	default:
		b.add(a, &w, b.outlived(a, end, until, allowed, x))
	}
}

// outlives says why a hold lost its znodes while its client believed in it, and until when it may have done so.
func (b *backing) outlives(
	a *history.Acquisition, w *proof, end *nodes.End, at, until int64,
) (x explanation, allowed int64) {
	ended := a.ReleaseInvoked != history.None || a.Lost != history.None || a.Died != history.None
	switch {
	case until <= at:
		return x, until
	case !ended && end.Cause == txnlog.CloseSession:
		return x, until // the record of the client does not say when it stopped believing
	case a.Lost != history.None && until == a.Lost && until <= at+int64(handOff):
		return x, until // the recipe gave the hold up itself, and then told its client
	}
	x = b.ended(a, w.path(), end)
	s := b.transactions.History.Sessions[end.By]
	switch {
	case x.explained():
		return x, x.told
	case end.Cause == txnlog.CloseSession && s != nil && s.Expired:
		return x, b.toldBy(a, at) // whatever silenced it, the service may end a session, and must tell its client
	}
	return x, at
}

// add counts one finding about a hold.
func (b *backing) add(a *history.Acquisition, w *proof, f Finding) {
	b.count++
	b.kinds[f.Kind]++
	path := w.path()
	if len(w.spans) > 0 {
		path = w.spans[0].Path
	}
	c := b.transactions.contradiction(a.Session, path)
	if c == nil && w.answer == nodes.NoZnode {
		c = b.transactions.contradictionAt(a.Token)
	}
	if c != nil {
		f.Cause, f.Explained = CauseServer, true
		f.Zxids = append(f.Zxids, zxidWords([]int64{c.Zxid})...)
		f.Text += "; " + c.Text
		b.byServer++
	}
	if len(b.findings) < maxFindings {
		b.findings = append(b.findings, f)
	}
}

func (b *backing) finding(kind Kind, a *history.Acquisition) Finding {
	return Finding{
		Kind:    kind,
		Lock:    a.Lock,
		At:      a.Invoked,
		Until:   a.Returned,
		Cause:   CauseNone,
		Clients: []string{a.Client},
		Tokens:  []int64{a.Token},
		Events:  b.eventsOf(a),
	}
}

// unbacked says what is wrong with a grant.
func (b *backing) unbacked(a *history.Acquisition, w *proof) Finding {
	f := b.finding(KindGrantWithoutZnode, a)
	var zxids []int64
	if c := w.best; c != nil {
		zxids = append(zxids, c.Czxid)
		if c.End != nil {
			zxids = append(zxids, c.End.Zxid)
		}
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s was granted %s at %s", holder(a), a.Lock, seconds(a.Returned))
	switch {
	case w.shared != nil:
		f.Kind = KindGrantSharesZnode
		zxids = append(zxids, w.spans[0].Czxid)
		f.Clients, f.Tokens = append(f.Clients, w.shared.Client), append(f.Tokens, w.shared.Token)
		f.Events = append(f.Events, b.eventsOf(w.shared)...)
		fmt.Fprintf(&text, " with the znode of %s's grant", w.shared.Client)
	case w.had > 0:
		f.Kind = KindGrantShortOfLeases
		fmt.Fprintf(&text, ", but it had leases for only %d of %s", w.had, count(a.Permits, "permit", "permits"))
	case w.answer == nodes.NoZnode:
		text.WriteString(", but had no znode")
	case w.answer == nodes.OtherSession:
		f.Kind = KindGrantOfAnotherSession
		fmt.Fprintf(&text, " in session %s, but its znode is another session's: %s", a.Session, b.describe(w.best))
	default:
		f.Kind = KindGrantBeforeEligible
		if end := w.best.End; end != nil && b.transactions.clock.at(end.Time) < a.Invoked {
			f.Kind = KindGrantAfterZnode
		}
		fmt.Fprintf(&text, ", but its znode was not eligible during the call: %s", b.describe(w.best))
	}
	if other := b.eligibleAt(a); other != nil {
		zxids = append(zxids, other.From, other.To)
		fmt.Fprintf(&text, "; %s of %s was eligible then, since zxid %s", other.Name(), b.whose(other.Owner),
			Zxid(other.From))
	}
	f.Zxids, f.Text = zxidWords(zxids), text.String()
	return f
}

// outlived says how a hold lost its znode, and for how long its client believed in it all the same.
func (b *backing) outlived(a *history.Acquisition, end *nodes.End, until, allowed int64, x explanation) Finding {
	f := b.finding(KindHoldOutlivedZnode, a)
	at := b.transactions.clock.at(end.Time)
	f.At, f.Until, f.Zxids = at, until, zxidWords(append([]int64{end.Zxid}, x.zxids...))
	if x.fault != nil {
		f.Fault = x.fault.ID
		f.Events = append(f.Events, x.fault.events...)
	}
	what := "znode was gone"
	if b.servers == nil {
		what = "session had ended"
	}
	f.Text = fmt.Sprintf("%s believed that it held %s for %s after its %s at zxid %s (%s); %s", holder(a), a.Lock,
		millis(until-at), what, Zxid(end.Zxid), seconds(at), x.text)
	if allowed > at+b.transactions.clock.err {
		f.Text += fmt.Sprintf("; it must have learned of its loss by %s", seconds(allowed))
	}
	return f
}

// release notes a release that succeeded after its hold had ended.
func (b *backing) release(a *history.Acquisition) {
	if a.ReleaseReturned == history.None || a.ReleaseOutcome != history.OK ||
		a.Lost != history.None && a.Lost <= a.ReleaseInvoked {
		return
	}
	at, end := b.gone(a)
	if end == nil || at >= a.ReleaseInvoked {
		return
	}
	if b.unreported++; len(b.told) < maxFindings {
		f := b.finding(KindLostUnreported, a)
		f.At, f.Until, f.Zxids = at, a.ReleaseReturned, zxidWords([]int64{end.Zxid})
		f.Text = fmt.Sprintf("the release of %s by %s at %s succeeded, although its hold had ended %s before, at zxid %s "+
			"(%v)", a.Lock, holder(a), seconds(a.ReleaseInvoked), millis(a.ReleaseInvoked-at), Zxid(end.Zxid), end.Cause)
		b.told = append(b.told, f)
	}
}

// gone is the latest instant at which the servers can have ended a's hold, and the transaction that did: the end of the
// first of its znodes, or of its session where its znodes are not known. The transaction is nil if there is none, or if
// the servers' logs do not tell.
func (d *digest) gone(a *history.Acquisition) (at int64, end *nodes.End) {
	if !d.transactions.whole() {
		return history.None, nil
	}
	if d.servers == nil {
		end = d.sessionEnd(a.Session)
	} else if w := d.servers.proof(a); w.answer == nodes.Witnessed {
		end = w.firstEnd()
	}
	if end == nil {
		return history.None, nil
	}
	return d.transactions.clock.at(end.Time) + d.transactions.clock.err, end
}

// eligibleAt is another session's znode that was eligible when the client was told of its grant, nil if there was
// none.
func (d *digest) eligibleAt(a *history.Acquisition) *nodes.Span {
	lane := d.servers.lanes[a.Lock]
	var last *nodes.Span
	for i := range lane.Spans {
		s := &lane.Spans[i]
		if s.Owner != int64(a.Session) && d.servers.clock.at(s.FromTime) <= a.Returned &&
			(s.To == 0 || d.servers.clock.at(s.ToTime) >= a.Returned) {
			last = s
		}
	}
	return last
}
