package check

import (
	"fmt"
	"strings"

	"locklab/ensembles/txnlog"
	"locklab/ensembles/txnlog/nodes"
	"locklab/harness/check/evidence"
	"locklab/harness/history"
)

var serviceExclusionCheck = evidence.Check{
	Name: evidence.ServiceExclusion,
	Asks: "did the servers back every hold? Each grant must have a znode of its own session that was " +
		"eligible during the acquire call, by the servers' transaction logs, and the znode must be there for " +
		"as long as its client believes that it holds the lock, or until a client that lost its session must " +
		"have learned of that. Unknown where the logs are incomplete or come from no majority; n/a where the " +
		"lock's znodes are not known, or where the recipe promises no exclusion",
	Subject: "what the servers granted",
	Judge:   judgeServiceExclusion,
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
//     must have learned of that ([evidence.Digest.ToldBy]), and if a fault deleted the znode as an administrator would.
//     It may not do so if a client deleted the znode, be it by mistake for its own or with the lock's directory.
//
// A release that succeeded although the hold had ended before is counted apart, because it harms nobody by itself.
//
// A transaction is placed on the run's clock by the time when the leader prepared it, which is before it took effect,
// and by the relation of the clocks, with its error in the client's favour.
//
// The check does not apply where there were no logs, or to a recipe that promises nothing. Where the lock's znodes are
// not known, it only finds holds that outlived their sessions: no client must go on believing for longer than it takes
// to be told. It is unknown where the logs are not complete, because contenders are only known if all transactions are.
func judgeServiceExclusion(d *evidence.Digest, s *evidence.Safety) evidence.Verdict {
	log := d.Facts.Servers
	switch {
	case !d.Facts.Exclusive && (log == nil || log.Layout == ""): // no lock at all
		return evidence.Verdict{Result: evidence.NotApplicable,
			Summary: "the recipe promises no exclusion that servers could back"}
	case log == nil:
		return evidence.Verdict{Result: evidence.NotApplicable,
			Summary: "needs the servers' transaction logs, which were not read"}
	case log.Missing != "":
		return evidence.Verdict{Result: evidence.Unknown, Summary: "needs the servers' transaction logs: " + log.Missing}
	case d.Transactions == nil:
		return evidence.Verdict{Result: evidence.Unknown,
			Summary: "the servers' clock cannot be placed: the history has no reading of it"}
	}
	b := backing{Digest: d, kinds: map[evidence.Kind]int64{}}
	for _, l := range d.Locks {
		for _, a := range l.Grants {
			b.release(a)
		}
	}
	if d.Transactions.Whole() {
		s.LostUnreported = &b.unreported
	}
	for _, l := range d.Locks {
		for _, a := range l.Grants {
			b.grant(a)
		}
	}
	unbacked := b.count - b.kinds[evidence.KindHoldOutlivedZnode]
	outlived := b.kinds[evidence.KindHoldOutlivedZnode]
	if d.Servers != nil {
		s.UnbackedGrants, s.OutlivedZnodes = &unbacked, &outlived
	}

	v := evidence.Verdict{Count: b.count, Findings: append(b.findings, b.told...)}
	doubts := d.Transactions.DoubtedBecause()
	backed := fmt.Sprintf("each of %s had an eligible znode of its own for as long as it lasted",
		evidence.Count(b.grants, "grant", "grants"))
	switch {
	case d.Servers == nil && log.Layout != "" && v.Count == 0:
		v.Setf(evidence.Unknown,
			"the sessions of %s are not known, so nothing is known of their znodes (a lock's command says its "+
				"session with opened ID)", evidence.Count(d.SessionsUnsaid(), "grant", "grants"))
	case d.Servers == nil && v.Count == 0:
		v.Setf(evidence.NotApplicable, "it is not known by which znodes the lock's clients contend")
	case len(doubts) > 0 && v.Count > 0:
		v.Setf(evidence.Unknown, "%s, but %s", b.what(), strings.Join(doubts, "; "))
	case b.byServer > 0 && b.byServer == v.Count:
		v.Setf(evidence.Unknown, "%s, where the servers contradict themselves: %s", b.what(), v.Findings[0].Text)
	case v.Count > 0:
		v.Setf(evidence.Fail, "%s, of %s: %s", b.what(), evidence.Count(b.grants, "grant", "grants"), v.Findings[0].Text)
		v.Violation = d.Facts.Exclusive
	case b.grants == 0:
		v.Setf(evidence.Unknown, "no client got a lock")
	case len(doubts) > 0:
		v.Setf(evidence.Unknown, "%s, but %s", backed, strings.Join(doubts, "; "))
	case b.doubt != "":
		v.Setf(evidence.Unknown, "%s that may have outlived a znode, the first: %s",
			evidence.Count(b.unsure, "hold", "holds"), b.doubt)
	case !d.Whole:
		v.Setf(evidence.Unknown, "%s, but the history is not complete", backed)
	default:
		v.Setf(evidence.Pass, "%s, by the logs of %s from zxid %s to %s", backed, strings.Join(log.Servers, ", "),
			evidence.Zxid(log.History.First), evidence.Zxid(log.History.Last))
	}
	v.Summary += b.toldOK()
	return v
}

// A backing is what the servers say about the grants judged so far.
type backing struct {
	*evidence.Digest
	grants, count, byServer int64
	kinds                   map[evidence.Kind]int64 // of what is wrong
	findings                []evidence.Finding

	unsure int64  // holds that may have outlived their znodes
	doubt  string // the first of them

	unreported int64 // releases that succeeded after their hold had ended
	told       []evidence.Finding
	uses       map[holdUse]int64 // see [backing.lastUse]
}

// whatKinds are the kinds of findings in words, for one and for many.
var whatKinds = [...]struct {
	kind      evidence.Kind
	one, many string
}{
	{evidence.KindGrantWithoutZnode, "grant without a znode", "grants without a znode"},
	{evidence.KindGrantOfAnotherSession, "grant with another session's znode", "grants with another session's znode"},
	{evidence.KindGrantBeforeEligible, "grant before its znode was eligible", "grants before their znode was eligible"},
	{evidence.KindGrantAfterZnode, "grant after its znode was gone", "grants after their znodes were gone"},
	{evidence.KindGrantShortOfLeases, "grant of more permits than it had leases",
		"grants of more permits than they had leases"},
	{evidence.KindGrantSharesZnode, "grant with the znode of another grant", "grants with the znode of another grant"},
	{evidence.KindHoldOutlivedZnode, "hold that outlived its znode", "holds that outlived their znodes"},
}

// what counts what was found, by kind.
func (b *backing) what() string {
	var parts []string
	for _, k := range whatKinds {
		if n := b.kinds[k.kind]; n > 0 {
			parts = append(parts, evidence.Count(n, k.one, k.many))
		}
	}
	return strings.Join(parts, " and ")
}

func (b *backing) toldOK() string {
	if b.unreported == 0 {
		return ""
	}
	return "; " + evidence.Count(b.unreported, "release", "releases") +
		" succeeded although the hold had ended at the servers before"
}

// grant judges one grant, and the hold that it began. Where its znodes are not known, they ended with its session at
// the latest.
func (b *backing) grant(a *history.Acquisition) {
	b.grants++
	var w evidence.Proof
	end := b.SessionEnd(a.Session)
	if b.Servers != nil {
		if w = b.Servers.Proof(a); w.Answer != nodes.Witnessed || w.Shared != nil {
			b.add(a, &w, b.unbacked(a, &w))
			return
		}
		end = w.FirstEnd()
	}
	if end == nil || !b.Transactions.Whole() {
		return
	}
	at, until := b.Transactions.Clock.At(end.Time)+b.Transactions.Clock.Err, b.BelievedUntil(a)
	x, allowed := b.outlives(a, &w, end, at, until)
	switch {
	case until <= allowed:
	case x.Unsure() && until <= x.Told:
		if b.unsure++; b.doubt == "" {
			b.doubt = b.outlived(a, end, until, allowed, x).Text
		}
	default:
		b.add(a, &w, b.outlived(a, end, until, allowed, x))
	}
}

// outlives says why a hold lost its znodes while its client believed in it, and until when it may have done so.
func (b *backing) outlives(
	a *history.Acquisition, w *evidence.Proof, end *nodes.End, at, until int64,
) (x evidence.Explanation, allowed int64) {
	ended := a.ReleaseInvoked != history.None || a.Lost != history.None || a.Died != history.None
	s := b.Transactions.History.Sessions[end.By]
	expired := end.Cause == txnlog.CloseSession && s != nil && s.Expired
	switch {
	case until <= at || b.Unreleased(a):
		return x, until
	case !ended && end.Cause == txnlog.CloseSession && !expired && b.lastUse(a) <= at+int64(evidence.HandOff):
		return x, until // the record of the client does not say when it stopped believing and closed the session
	case a.Lost != history.None && until == a.Lost && until <= at+int64(evidence.HandOff):
		return x, until // the recipe gave the hold up itself, and then told its client
	}
	x = b.Ended(a, w.Path(), end)
	switch {
	case x.Explained():
		if late := x.Until(until); late.Unsure() {
			return late, late.Surely()
		}
		return x, x.Told
	case expired:
		// Whatever silenced it, the service may end a session, and must tell its client.
		allowed, told := b.ToldBy(a, at)
		switch {
		case x.Unsure():
		case until-b.PerhapsStood(a, at, until).Lasts() <= allowed:
			x = evidence.UnseenUntil(until)
		case until > allowed && until <= told:
			x = evidence.Late(x.Text, allowed, told)
		}
		return x, allowed
	}
	return x, at
}

// lastUse is when a client last used the resource under a hold of which the record has no end; 0 if it did not.
func (b *backing) lastUse(a *history.Acquisition) int64 {
	if b.uses == nil {
		b.uses = map[holdUse]int64{}
		for _, e := range b.Events.Of(history.OpEnter, history.OpRead, history.OpWrite, history.OpExit) {
			if e.Kind == history.Invoke && e.Process == history.HostOf(e.Client) {
				b.uses[holdUse{e.Client, e.Lock, e.Acq}] = e.At
			}
		}
	}
	return b.uses[holdUse{a.Client, a.Lock, a.N}]
}

// A holdUse names the hold of an access.
type holdUse struct {
	client, lock string
	n            int64
}

// add counts one finding about a hold.
func (b *backing) add(a *history.Acquisition, w *evidence.Proof, f evidence.Finding) {
	b.count++
	b.kinds[f.Kind]++
	path := w.Path()
	if len(w.Spans) > 0 {
		path = w.Spans[0].Path
	}
	c := b.Transactions.Contradiction(a.Session, path)
	if c == nil && w.Answer == nodes.NoZnode {
		c = b.Transactions.ContradictionAt(a.Token)
	}
	if c != nil {
		f.Cause, f.Explained = evidence.CauseServer, true
		f.Zxids = append(f.Zxids, evidence.ZxidWords([]int64{c.Zxid})...)
		f.Text += "; " + c.Text
		b.byServer++
	}
	if len(b.findings) < evidence.MaxFindings {
		b.findings = append(b.findings, f)
	}
}

// unbacked says what is wrong with a grant.
func (b *backing) unbacked(a *history.Acquisition, w *evidence.Proof) evidence.Finding {
	f := b.FindingOf(evidence.KindGrantWithoutZnode, a, a.Invoked, a.Returned, "")
	var zxids []int64
	if c := w.Best; c != nil {
		zxids = append(zxids, c.Czxid)
		if c.End != nil {
			zxids = append(zxids, c.End.Zxid)
		}
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s was granted %s at %s", evidence.Holder(a), a.Lock, evidence.Seconds(a.Returned))
	switch {
	case w.Shared != nil:
		f.Kind = evidence.KindGrantSharesZnode
		zxids = append(zxids, w.Spans[0].Czxid)
		f.Clients, f.Tokens = append(f.Clients, w.Shared.Client), append(f.Tokens, w.Shared.Token)
		f.Events = append(f.Events, b.EventsOf(w.Shared)...)
		fmt.Fprintf(&text, " with the znode of %s's grant", w.Shared.Client)
	case w.Had > 0:
		f.Kind = evidence.KindGrantShortOfLeases
		fmt.Fprintf(&text, ", but it had leases for only %d of %s", w.Had, evidence.Count(a.Permits, "permit", "permits"))
	case w.Answer == nodes.NoZnode:
		text.WriteString(", but had no znode")
	case w.Answer == nodes.OtherSession:
		f.Kind = evidence.KindGrantOfAnotherSession
		fmt.Fprintf(&text, " in session %s, but its znode is another session's: %s", a.Session, b.Describe(w.Best))
	default:
		f.Kind = evidence.KindGrantBeforeEligible
		if end := w.Best.End; end != nil && b.Transactions.Clock.At(end.Time) < a.Invoked {
			f.Kind = evidence.KindGrantAfterZnode
		}
		fmt.Fprintf(&text, ", but its znode was not eligible during the call: %s", b.Describe(w.Best))
	}
	if other := eligibleAt(b.Digest, a); other != nil {
		zxids = append(zxids, other.From, other.To)
		fmt.Fprintf(&text, "; %s of %s was eligible then, since zxid %s", other.Name(), b.Whose(other.Owner),
			evidence.Zxid(other.From))
	}
	f.Zxids, f.Text = evidence.ZxidWords(zxids), text.String()
	return f
}

// outlived says how a hold lost its znode, and for how long its client believed in it all the same.
func (b *backing) outlived(a *history.Acquisition, end *nodes.End, until, allowed int64,
	x evidence.Explanation) evidence.Finding {
	at := b.Transactions.Clock.At(end.Time)
	what := "znode was gone"
	if b.Servers == nil {
		what = "session had ended"
	}
	f := b.FindingOf(evidence.KindHoldOutlivedZnode, a, at, until,
		"%s believed that it held %s for %s after its %s at zxid %s (%s); %s", evidence.Holder(a), a.Lock,
		evidence.Millis(until-at), what, evidence.Zxid(end.Zxid), evidence.Seconds(at), x.Text)
	f.Zxids = evidence.ZxidWords(append([]int64{end.Zxid}, x.Zxids...))
	if x.Fault != nil {
		f.Fault = x.Fault.ID
		f.Events = append(f.Events, x.Fault.Events...)
	}
	if allowed > at+b.Transactions.Clock.Err {
		f.Text += fmt.Sprintf("; it must have learned of its loss by %s", evidence.Seconds(allowed))
	}
	return f
}

// release notes a release that succeeded after its hold had ended.
func (b *backing) release(a *history.Acquisition) {
	if a.ReleaseReturned == history.None || a.ReleaseOutcome != history.OK ||
		a.Lost != history.None && a.Lost <= a.ReleaseInvoked {
		return
	}
	at, end := b.EndAtServers(a)
	if end == nil || at >= a.ReleaseInvoked {
		return
	}
	if b.unreported++; len(b.told) < evidence.MaxFindings {
		f := b.FindingOf(evidence.KindLostUnreported, a, at, a.ReleaseReturned,
			"the release of %s by %s at %s succeeded, although its hold had ended %s before, at zxid %s (%v)", a.Lock,
			evidence.Holder(a), evidence.Seconds(a.ReleaseInvoked), evidence.Millis(a.ReleaseInvoked-at),
			evidence.Zxid(end.Zxid), end.Cause)
		f.Zxids = evidence.ZxidWords([]int64{end.Zxid})
		b.told = append(b.told, f)
	}
}

// eligibleAt is another session's znode that was eligible when the client was told of its grant, nil if there was none.
func eligibleAt(d *evidence.Digest, a *history.Acquisition) *nodes.Span {
	lane := d.Servers.Lanes[a.Lock]
	var last *nodes.Span
	for i := range lane.Spans {
		s := &lane.Spans[i]
		from, until := d.Servers.Clock.Times(s)
		if s.Owner != int64(a.Session) && from <= a.Returned && until >= a.Returned {
			last = s
		}
	}
	return last
}
