package reports

import (
	"fmt"
	"strings"

	"locklab/harness/check"
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

func exclusionSentence(r Result, rep check.Report) string {
	acquired := r.Operations.AcquiredInRun
	switch n := r.Safety.Overlaps; {
	case acquired == 0:
		return "No acquisitions were recorded."
	case n == nil:
		return fmt.Sprintf("%s; whether two clients held a lock at once was not judged.", count(acquired, "acquisition"))
	case *n == 0:
		return fmt.Sprintf("No two clients believed they held the lock at once in %s.", count(acquired, "acquisition"))
	case *n == 1:
		s := "Two clients believed they held the lock at once"
		if d := r.Safety.MaxOverlapNs; d != nil {
			s += " for " + duration(*d)
		}
		return s + because(r, rep) + "."
	default:
		s := "Two clients believed they held the lock at once, " + grouped(*n) + " times"
		if d := r.Safety.MaxOverlapNs; d != nil {
			s += " and for up to " + duration(*d)
		}
		return s + because(r, rep) + "."
	}
}

// because names the cause of the overlaps, if they all have the same known one
// and the findings are all there.
func because(r Result, rep check.Report) string {
	v := rep.Check(check.BeliefExclusion)
	if v == nil {
		return ""
	}
	cause, longer, n := "", true, int64(0)
	for i := range v.Findings {
		f := &v.Findings[i]
		if f.Kind != findingOverlap {
			continue
		}
		if n++; n == 1 {
			cause = f.Cause
		}
		if f.Cause != cause || !f.Explained {
			return ""
		}
		longer = longer && outlasts(r, f.Fault)
	}
	if n == 0 || n != *r.Safety.Overlaps {
		return ""
	}
	each := ""
	if n > 1 {
		each = ", each time"
	}
	switch {
	case cause == "pause" && longer:
		return each + " after one was paused longer than its session timeout"
	case cause == "pause":
		return each + " after one was paused"
	case cause == "partition":
		return each + " after one was cut off from the servers"
	}
	return ""
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
	var parts []string
	switch {
	case accepted > 0 && lost > 0:
		parts = append(parts, fmt.Sprintf("The resource accepted %s, and %s lost.", count(accepted, "outdated access"), were(lost, "update")))
	case lost > 0:
		parts = append(parts, upper(were(lost, "update"))+" lost.")
	case accepted > 0:
		parts = append(parts, fmt.Sprintf("The resource accepted %s.", count(accepted, "outdated access")))
	case refused > 0 && s.LostUpdates != nil:
		parts = append(parts, fmt.Sprintf("The resource refused %s, and no update was lost.", count(refused, "outdated access")))
	case refused > 0:
		parts = append(parts, fmt.Sprintf("The resource refused %s.", count(refused, "outdated access")))
	case value(s.Overlaps) > 0 && s.LostUpdates != nil:
		parts = append(parts, "No update was lost.")
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
