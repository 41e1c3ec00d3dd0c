package result

import (
	"fmt"
	"slices"
	"strings"

	"locklab/harness/check"
	"locklab/harness/history"
	"locklab/reports/measure"
	"locklab/reports/words"
)

// headline says in a sentence or two what the run showed, for a reader who knows locks but not this tool. It claims
// nothing that was not measured.
func headline(r Result, rep check.Report) string {
	var s []string
	switch v := rep.Check(check.ServiceLiveness); {
	case v != nil && v.Outcome() == check.Fail:
		s = append(s, "Servers that were up did not serve, which is a finding about them and not about the lock: "+
			words.Sentence(v.Summary))
	case r.Partial:
		s = append(s, "The run broke off before its end.")
	}
	if failed := r.Failures.Sentence(r.Operations.AcquiredInRun, r.asked); failed != "" {
		s = append(s, failed)
	}
	if rep.Verdict == check.Unknown {
		s = append(s, unknownSentence(rep))
	}
	s = append(s, thresholdSentences(r)...)
	s = append(s, exclusionSentence(r, rep))
	s = append(s, serviceSentences(r, rep)...)
	if d := damageSentence(r); d != "" {
		s = append(s, d)
	}
	if v := rep.Check(check.Effect); v != nil && v.Violation && strayDamage(v.Findings) {
		s = append(s, "No fault explains all of this damage: what it does not explain is a bug in the lock or in the "+
			"resource.")
	}
	if n := words.Value(r.Safety.OverlapsUnexplained); n > 0 {
		s = append(s, fmt.Sprintf("No fault explains %s: that is a bug in the lock or in the servers.",
			words.Which(n, words.Value(r.Safety.Overlaps))))
	}
	if rep.Verdict == check.Fail {
		for i := range rep.Checks {
			if v := &rep.Checks[i]; v.Outcome() == check.Fail && v.Name != check.BeliefExclusion &&
				v.Name != check.ServiceExclusion && v.Name != check.Effect && v.Name != check.ServiceLiveness {
				s = append(s, "The check of "+PlainName(v.Name)+" failed: "+words.Sentence(v.Summary))
				break
			}
		}
	}
	return strings.Join(s, " ")
}

// thresholdSentences says which thresholds cannot be judged or were missed: the first of each kind, and how many
// more.
func thresholdSentences(r Result) []string {
	var s []string
	for _, kind := range []struct {
		verdict check.Result
		says    string
	}{{check.Unknown, "Unknown whether %s: %s%s."}, {check.Fail, "Missed: %s, as %s%s."}} {
		var first *ThresholdLine
		more := int64(-1)
		for i := range r.Thresholds {
			if t := &r.Thresholds[i]; t.Verdict == kind.verdict {
				if more++; first == nil {
					first = t
				}
			}
		}
		if first == nil {
			continue
		}
		others := ""
		if more > 0 {
			others = fmt.Sprintf(" (and %s more)", words.Count(more, "threshold"))
		}
		s = append(s, fmt.Sprintf(kind.says, first.Expr, first.Reason, others))
	}
	return s
}

// phrases are what the headline says about exclusion, which means something different in each mode.
type phrases struct {
	both  string // what must not happen
	none  string // it did not happen, in so many acquisitions
	seen  string // it was not seen to happen
	still string // what a client believed it still held
}

func phrasesFor(modes []history.Mode) phrases {
	switch {
	case slices.Equal(modes, []history.Mode{history.ModePermit}):
		return phrases{"Clients believed they held more permits than there are",
			"No more permits were believed held than there are",
			"No more permits were seen to be believed held than there are", "a permit"}
	case slices.Contains(modes, history.ModePermit):
		return phrases{"Clients believed they held locks that exclude each other",
			"No clients believed at once that they held locks that exclude each other",
			"No clients were seen to hold at once locks that exclude each other", "a lock"}
	case slices.Contains(modes, history.ModeRead):
		return phrases{"A writer and another client believed they held the lock at once",
			"No writer believed it held the lock while another client did",
			"No writer was seen to hold the lock while another client did", "the lock"}
	}
	return phrases{"Two clients believed they held the lock at once", "No two clients believed they held the lock at once",
		"No two clients were seen to hold the lock at once", "the lock"}
}

func exclusionSentence(r Result, rep check.Report) string {
	acquired := r.Operations.AcquiredInRun
	say := phrasesFor(r.modes)
	switch n := r.Safety.Overlaps; {
	case acquired == 0 && r.asked == 0:
		return "No acquisitions were recorded."
	case acquired == 0:
		return "No client got a lock."
	case n == nil:
		return fmt.Sprintf("%s; whether two clients held a lock at once was not judged.",
			words.Count(acquired, "acquisition"))
	case *n == 0 && undecided(rep):
		return fmt.Sprintf("%s in %s, but the record does not rule it out.", say.seen, words.Count(acquired, "acquisition"))
	case *n == 0:
		return fmt.Sprintf("%s in %s.", say.none, words.Count(acquired, "acquisition"))
	case *n == 1:
		s := say.both
		if d := r.Safety.MaxOverlapNs; d != nil {
			s += " for " + words.Duration(*d)
		}
		return s + because(r, rep) + "."
	default:
		s := say.both + ", " + words.Grouped(*n) + " times"
		if holds, together, ok := sameHolder(r, rep); ok && holds == 1 {
			s = fmt.Sprintf("One client believed it still held %s while others got it %s times in turn, for %s in all",
				say.still, words.Grouped(*n), words.Duration(together))
		} else if ok && holds < *n {
			s = fmt.Sprintf("One client believed %s times that it still held %s while others got it, %s times in turn and "+
				"for %s in all", words.Grouped(holds), say.still, words.Grouped(*n), words.Duration(together))
		} else if d := r.Safety.MaxOverlapNs; d != nil {
			s += " and for up to " + words.Duration(*d)
		}
		return s + because(r, rep) + "."
	}
}

// unbacked says what a grant was that the servers did not back, by the kind of its finding.
var unbacked = map[check.Kind]string{
	check.KindGrantWithoutZnode:     "A client was told that it had the lock, but the servers had granted it nothing",
	check.KindGrantOfAnotherSession: "A client was told that it had the lock, but the servers had granted another session",
	check.KindGrantBeforeEligible:   "A client was told that it had the lock before it was its turn at the servers",
	check.KindGrantAfterZnode:       "A client was told that it had the lock after the servers had ended its hold",
	check.KindGrantShortOfLeases:    "A client was told that it had more permits than the servers had given it",
	check.KindGrantSharesZnode:      "A client was told that it had the lock by a grant of the servers to another client",
}

// serviceSentences says which holds the servers did not back. That is never two holders at the servers, whose rule
// excludes it.
func serviceSentences(r Result, rep check.Report) []string {
	var s []string
	if n := words.Value(r.Safety.UnbackedGrants); n > 0 {
		says := ""
		if v := rep.Check(check.ServiceExclusion); v != nil {
			for i := range v.Findings {
				switch kind := unbacked[v.Findings[i].Kind]; {
				case kind == "" || kind == says:
				case says == "":
					says = kind
				default:
					says = "Clients were told that they had locks that the servers had not granted them"
				}
			}
		}
		if says == "" {
			says = "A client was told that it had a lock that the servers had not granted it"
		}
		s = append(s, says+words.Repeated(n)+".")
	}
	if n := words.Value(r.Safety.OutlivedZnodes); n > 0 {
		s = append(s, "A client went on holding the lock after it was gone at the servers"+words.Repeated(n)+
			", and nothing excuses that.")
	}
	return s
}

// undecided reports whether the check of beliefs could not rule out an overlap.
func undecided(rep check.Report) bool {
	v := rep.Check(check.BeliefExclusion)
	return v != nil && v.Result == check.Unknown
}

// sameHolder returns how many holds of one client overlapped with others, and for how long in all. False if not all
// overlaps have the same client as the older holder, or if not all findings were kept.
func sameHolder(r Result, rep check.Report) (holds int64, together int64, ok bool) {
	all := OverlapFindings(rep)
	var spans []measure.Span
	tokens := map[int64]bool{}
	for i := range all {
		f := &all[i]
		if f.Lock != all[0].Lock || f.Clients[0] != all[0].Clients[0] || len(f.Tokens) != 2 || f.Tokens[0] == 0 {
			return 0, 0, false
		}
		tokens[f.Tokens[0]] = true
		spans = append(spans, measure.Span{From: f.At, To: f.Until})
	}
	for _, s := range measure.Union(spans) {
		together += s.To - s.From
	}
	return int64(len(tokens)), together, int64(len(all)) == *r.Safety.Overlaps
}

// because names the cause of the overlaps if all have the same known one and all findings were kept; else it is
// empty.
func because(r Result, rep check.Report) string {
	all := OverlapFindings(rep)
	if len(all) == 0 || int64(len(all)) != *r.Safety.Overlaps {
		return ""
	}
	longer := true
	for i := range all {
		if all[i].Cause != all[0].Cause || !all[i].Explained {
			return ""
		}
		longer = longer && outlasts(r, all[i].Fault)
	}
	when := " after"
	who := "one"
	switch holds, _, same := sameHolder(r, rep); {
	case len(all) == 1:
	case same && holds == 1:
		when, who = ", after", "it"
	case same && holds < int64(len(all)):
		when, who = ", each time after", "it"
	default:
		when = ", each time after"
	}
	host, ok := struck(r, all)
	if !ok {
		return ""
	}
	if host != "" { // the fault did not hit the holder itself
		who = host
	}
	switch all[0].Cause {
	case "pause":
		if longer && host == "" {
			return when + " " + who + " was paused longer than its session timeout"
		}
		return when + " " + who + " was paused"
	case "partition":
		if host == "" {
			return when + " " + who + " was cut off from the servers"
		}
		return when + " " + who + " was cut off"
	case "kill":
		return when + " " + who + " was killed"
	}
	return ""
}

// struck returns the hosts that the faults behind the overlaps hit, "" for the older holder's own process. ok is
// false if the faults did not all hit the same.
func struck(r Result, all []check.Finding) (host string, ok bool) {
	for i := range all {
		process, _, _ := strings.Cut(all[i].Clients[0], "/")
		target, known := "", false
		for _, f := range r.Faults {
			if f.ID == all[i].Fault {
				target, known = f.Target, true
			}
		}
		if target == process {
			target = ""
		}
		if !known || i > 0 && target != host {
			return "", false
		}
		host = target
	}
	return host, true
}

// outlasts reports whether the fault lasted longer than the session timeout.
func outlasts(r Result, id string) bool {
	for i := range r.Faults {
		if f := &r.Faults[i]; f.ID == id && f.InjectedNs != nil && f.HealedNs != nil && r.SessionTimeoutNs != nil {
			return *f.HealedNs-*f.InjectedNs > *r.SessionTimeoutNs
		}
	}
	return false
}

// damageSentence says what damage was done at the resource.
func damageSentence(r Result) string {
	s := &r.Safety
	lost, accepted, refused := words.Value(s.LostUpdates), words.Value(s.StaleAccepted), words.Value(s.StaleRejected)
	who := "The resource"
	if r.Guard == check.GuardZKMulti {
		who = "ZooKeeper"
	}
	var parts []string
	switch {
	case accepted > 0 && lost > 0:
		parts = append(parts,
			fmt.Sprintf("%s accepted %s, and %s.", who, outdatedAccesses(s, accepted), lostUpdates(s, lost)))
	case lost > 0:
		parts = append(parts, words.Upper(lostUpdates(s, lost))+".")
	case accepted > 0:
		parts = append(parts, fmt.Sprintf("%s accepted %s.", who, outdatedAccesses(s, accepted)))
	case refused > 0 && s.LostUpdates != nil:
		parts = append(parts, fmt.Sprintf("%s refused %s, and no update was lost.", who, outdatedAccesses(s, refused)))
	case refused > 0:
		parts = append(parts, fmt.Sprintf("%s refused %s.", who, outdatedAccesses(s, refused)))
	case words.Value(s.Overlaps) > 0 && s.LostUpdates != nil:
		parts = append(parts, "No update was lost.")
	}
	if n := words.Value(s.TornReads); n > 0 {
		parts = append(parts, "A client wrote between the two reads of a reader"+words.Repeated(n)+".")
	}
	if n := words.Value(s.Crowded); n > 0 {
		parts = append(parts, "More permits were used at once than there are"+words.Repeated(n)+".")
	}
	if n := words.Value(s.FalseRejections); n > 0 {
		parts = append(parts, fmt.Sprintf("The resource refused %s of a rightful holder, which must not happen.",
			words.Count(n, "access")))
	}
	return strings.Join(parts, " ")
}

// strayDamage reports whether some damage belongs to no overlap of holds that a fault explains.
func strayDamage(all []check.Finding) bool {
	return slices.ContainsFunc(all, func(f check.Finding) bool {
		return (f.Kind == check.KindStaleAccepted || f.Kind == check.KindLostUpdate) && f.Cause == check.CauseNone
	})
}

// outdatedAccesses names the outdated accesses that were accepted, or were refused. It says whether their client had
// been told of its loss if there are no others.
func outdatedAccesses(s *check.Safety, n int64) string {
	text := words.Count(n, "outdated access")
	untold := words.Value(s.StaleWritesUntold)
	switch {
	case untold == 0 || words.Value(s.StaleAccepted)+words.Value(s.StaleRejected) != n:
		return text
	case n == 1:
		return text + ", a write that was invoked before its client learned of the loss"
	}
	which := ""
	if untold < n {
		which = words.Grouped(untold) + " of them "
	}
	return text + ", " + which + "writes that were invoked before their client learned of the loss"
}

// lostUpdates says how many updates were lost and, if that is known, whether they were those of outdated writes or of
// other clients.
func lostUpdates(s *check.Safety, n int64) string {
	others := s.LostUpdatesOfOthers
	switch {
	case others == nil:
		return words.Were(n, "update") + " lost"
	case *others == n && n == 1:
		return "one update of another client was lost"
	case *others == n:
		return words.Count(n, "update") + " of other clients were lost"
	case *others == 0:
		return words.Were(n, "outdated update") + " lost"
	}
	return fmt.Sprintf("%s lost, %s of them of other clients", words.Were(n, "update"), words.Grouped(*others))
}

// unknownSentence says which check could not tell, and why: the first of them.
func unknownSentence(rep check.Report) string {
	for i := range rep.Checks {
		if v := &rep.Checks[i]; v.Outcome() == check.Unknown {
			return "The check of " + PlainName(v.Name) + " could not tell: " + words.Sentence(v.Summary)
		}
	}
	return "No check says why it is unknown."
}

// PlainName is a check's name for a reader who has not seen the list.
func PlainName(name string) string {
	if c, ok := check.Named(name); ok {
		return c.Subject
	}
	return name
}
