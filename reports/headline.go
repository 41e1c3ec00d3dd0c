package reports

import (
	"fmt"
	"slices"
	"strings"

	"locklab/harness/check"
	"locklab/harness/history"
)

// Headline says in a sentence or two what the run showed, for a reader who
// knows locks but not this tool. It claims nothing that was not measured.
func Headline(r Result, rep check.Report) string {
	var s []string
	if r.Partial {
		s = append(s, "The run broke off before its end.")
	}
	if rep.Verdict == check.Unknown {
		s = append(s, "Unknown: "+sentence(reason(rep, check.Unknown)))
	}
	s = append(s, thresholdSentences(r)...)
	s = append(s, exclusionSentence(r, rep))
	if n := value(r.Safety.DoubleGrants); n > 0 {
		s = append(s, fmt.Sprintf("The servers themselves let two clients hold a lock at once%s, which must never happen.", repeated(n)))
	}
	if d := damageSentence(r); d != "" {
		s = append(s, d)
	}
	if n := value(r.Safety.OverlapsUnexplained); n > 0 {
		s = append(s, fmt.Sprintf("No fault explains %s: that is a bug in the lock or in the servers.", which(n, value(r.Safety.Overlaps))))
	}
	if rep.Verdict == check.Fail {
		for i := range rep.Checks {
			if v := &rep.Checks[i]; v.Outcome() == check.Fail && v.Name != check.BeliefExclusion && v.Name != check.ServiceExclusion && v.Name != check.Effect {
				s = append(s, "The check of "+plainName(v.Name)+" failed: "+sentence(v.Summary))
				break
			}
		}
	}
	return strings.Join(s, " ")
}

// thresholdSentences says which thresholds were missed, or cannot be judged: the first
// of each, and how many more.
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
			others = fmt.Sprintf(" (and %s more)", count(more, "threshold"))
		}
		s = append(s, fmt.Sprintf(kind.says, first.Expr, first.Reason, others))
	}
	return s
}

// phrases are what the headline says of exclusion, which means something else in
// each mode.
type phrases struct {
	both  string // "…" at once: what must not be
	none  string // nobody … in so many acquisitions
	seen  string // nobody was seen to …
	still string // what one client believed that it still had
}

func phrasesFor(modes []string) phrases {
	switch {
	case slices.Equal(modes, []string{history.ModePermit}):
		return phrases{"Clients believed they held more permits than there are", "No more permits were believed held than there are",
			"No more permits were seen to be believed held than there are", "a permit"}
	case slices.Contains(modes, history.ModePermit):
		return phrases{"Clients believed they held what excludes each other", "No clients believed they held at once what excludes each other",
			"No clients were seen to hold at once what excludes each other", "a lock"}
	case slices.Contains(modes, history.ModeRead):
		return phrases{"A writer and another client believed they held the lock at once", "No writer believed it held the lock while another client did",
			"No writer was seen to hold the lock while another client did", "the lock"}
	}
	return phrases{"Two clients believed they held the lock at once", "No two clients believed they held the lock at once",
		"No two clients were seen to hold the lock at once", "the lock"}
}

func exclusionSentence(r Result, rep check.Report) string {
	acquired := r.Operations.AcquiredInRun
	say := phrasesFor(r.modes)
	switch n := r.Safety.Overlaps; {
	case acquired == 0:
		return "No acquisitions were recorded."
	case n == nil:
		return fmt.Sprintf("%s; whether two clients held a lock at once was not judged.", count(acquired, "acquisition"))
	case *n == 0 && undecided(rep):
		return fmt.Sprintf("%s in %s, but the record does not settle it.", say.seen, count(acquired, "acquisition"))
	case *n == 0:
		return fmt.Sprintf("%s in %s.", say.none, count(acquired, "acquisition"))
	case *n == 1:
		s := say.both
		if d := r.Safety.MaxOverlapNs; d != nil {
			s += " for " + duration(*d)
		}
		return s + because(r, rep) + "."
	default:
		s := say.both + ", " + grouped(*n) + " times"
		if together, ok := sameHold(r, rep); ok {
			s = fmt.Sprintf("One client believed it still held %s while others got it %s times in turn, for %s in all", say.still, grouped(*n), duration(together))
		} else if d := r.Safety.MaxOverlapNs; d != nil {
			s += " and for up to " + duration(*d)
		}
		return s + because(r, rep) + "."
	}
}

// undecided reports whether the check found no overlap but could not rule one out.
func undecided(rep check.Report) bool {
	v := rep.Check(check.BeliefExclusion)
	return v != nil && v.Result == check.Unknown
}

// sameHold returns how long one hold overlapped with others, if it is the older
// one of all overlaps and the findings are all there.
func sameHold(r Result, rep check.Report) (int64, bool) {
	all := overlapFindings(rep)
	var spans []span
	for i := range all {
		f := &all[i]
		if f.Lock != all[0].Lock || f.Clients[0] != all[0].Clients[0] || len(f.Tokens) != 2 || f.Tokens[0] == 0 || f.Tokens[0] != all[0].Tokens[0] {
			return 0, false
		}
		spans = append(spans, span{f.At, f.Until})
	}
	var sum int64
	for _, s := range union(spans) {
		sum += s.To - s.From
	}
	return sum, int64(len(all)) == *r.Safety.Overlaps
}

// because names the cause of the overlaps, if they all have the same known one
// and the findings are all there.
func because(r Result, rep check.Report) string {
	all := overlapFindings(rep)
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
	if _, same := sameHold(r, rep); len(all) > 1 && same {
		when, who = ", after", "it"
	} else if len(all) > 1 {
		when = ", each time after"
	}
	host, ok := struck(r, all)
	if !ok {
		return ""
	}
	if host != "" { // not the holder itself was hit
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

// struck says whom the faults behind the overlaps hit: "" for the older holder's
// own process, or the hosts. ok is false if it is not the same for all.
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

// damageSentence says what came of it at the resource.
func damageSentence(r Result) string {
	s := &r.Safety
	lost, accepted, refused := value(s.LostUpdates), value(s.StaleAccepted), value(s.StaleRejected)
	who := "The resource"
	if r.Guard == check.GuardZKMulti {
		who = "ZooKeeper"
	}
	var parts []string
	switch {
	case accepted > 0 && lost > 0:
		parts = append(parts, fmt.Sprintf("%s accepted %s, and %s lost.", who, count(accepted, "outdated access"), were(lost, "update")))
	case lost > 0:
		parts = append(parts, upper(were(lost, "update"))+" lost.")
	case accepted > 0:
		parts = append(parts, fmt.Sprintf("%s accepted %s.", who, count(accepted, "outdated access")))
	case refused > 0 && s.LostUpdates != nil:
		parts = append(parts, fmt.Sprintf("%s refused %s, and no update was lost.", who, count(refused, "outdated access")))
	case refused > 0:
		parts = append(parts, fmt.Sprintf("%s refused %s.", who, count(refused, "outdated access")))
	case value(s.Overlaps) > 0 && s.LostUpdates != nil:
		parts = append(parts, "No update was lost.")
	}
	if n := value(s.TornReads); n > 0 {
		parts = append(parts, "Somebody wrote between the two reads of a reader"+repeated(n)+".")
	}
	if n := value(s.Crowded); n > 0 {
		parts = append(parts, "More permits were used at once than there are"+repeated(n)+".")
	}
	if n := value(s.FalseRejections); n > 0 {
		parts = append(parts, fmt.Sprintf("The resource refused %s of a rightful holder, which it must not.", count(n, "access")))
	}
	return strings.Join(parts, " ")
}

// reason is the summary of the first check that came out like this.
func reason(rep check.Report, outcome check.Result) string {
	for i := range rep.Checks {
		if v := &rep.Checks[i]; v.Outcome() == outcome {
			return plainName(v.Name) + ": " + v.Summary
		}
	}
	return "no check said why"
}

// plainName is a check's name for a reader who has not seen the list.
func plainName(name string) string {
	if n, ok := plainNames[name]; ok {
		return n
	}
	return name
}

var plainNames = map[string]string{
	check.ServiceExclusion: "what the servers granted",
	check.BeliefExclusion:  "who believed to hold the lock",
	check.Effect:           "what the resource accepted",
	check.Tokens:           "rising tokens",
	check.Fairness:         "the order of the queue",
	check.Liveness:         "progress",
	check.Assumptions:      "the conditions of the run",
	check.Shown:            "what the scenario set out to show",
}
