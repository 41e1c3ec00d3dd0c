package result

import (
	"cmp"
	_ "embed"
	"slices"
	"strings"

	"locklab/harness/check"
	"locklab/harness/check/evidence"
	"locklab/harness/check/spans"
	"locklab/harness/history"
	"locklab/reports/doc"
	"locklab/reports/words"
)

//go:embed headline.tmpl
var headlineText string

var headlines = doc.NewProse(headlineText, map[string]any{"value": words.Value, "span": words.Duration,
	"grouped": words.Grouped, "count": words.Count, "were": words.Were, "which": words.Which, "repeated": words.Repeated,
	"sentence": words.Sentence, "plain": PlainName})

// headline says in a sentence or two what the run showed, for a reader who knows locks but not this tool. It claims
// nothing that was not measured.
func headline(r Result, rep check.Report) string {
	lines := headlines.Lines("headline", story{r, rep})
	for i := range lines {
		lines[i] = words.Upper(lines[i])
	}
	return strings.Join(lines, " ")
}

// A story is what the headline tells of.
type story struct {
	Result
	Rep check.Report
}

// Asked is how many acquisitions were asked for.
func (s story) Asked() int64 { return s.asked }

// Failed returns the verdict of a check if it failed.
func (s story) Failed(name string) *evidence.Verdict {
	if v := s.Rep.Check(name); v != nil && v.Outcome() == evidence.Fail {
		return v
	}
	return nil
}

// OtherFailed returns the first failed check of which the headline says nothing else.
func (s story) OtherFailed() *evidence.Verdict {
	told := []string{evidence.BeliefExclusion, evidence.ServiceExclusion, evidence.Effect, evidence.ServiceLiveness}
	for i := range s.Rep.Checks {
		v := &s.Rep.Checks[i]
		if s.Rep.Verdict == evidence.Fail && v.Outcome() == evidence.Fail && !slices.Contains(told, v.Name) {
			return v
		}
	}
	return nil
}

// Unclear returns the first check that could not tell.
func (s story) Unclear() *evidence.Verdict {
	for i := range s.Rep.Checks {
		if v := &s.Rep.Checks[i]; v.Outcome() == evidence.Unknown {
			return v
		}
	}
	return nil
}

// A limit is the first threshold with a verdict, and how many more have it.
type limit struct {
	*ThresholdLine
	More int64
}

func (s story) Limit(verdict evidence.Result) (first *limit) {
	for i := range s.Thresholds {
		switch t := &s.Thresholds[i]; {
		case t.Verdict != verdict:
		case first == nil:
			first = &limit{t, 0}
		default:
			first.More++
		}
	}
	return first
}

// Mode says what exclusion means in the run: what must not happen is something else in each mode.
func (s story) Mode() string {
	switch {
	case slices.Equal(s.modes, []history.Mode{history.ModePermit}):
		return "permits"
	case slices.Contains(s.modes, history.ModePermit):
		return "some permits"
	case slices.Contains(s.modes, history.ModeRead):
		return "readers"
	}
	return "clients"
}

// unbacked says what a grant was that the servers did not back, by the kind of its finding.
var unbacked = map[evidence.Kind]string{
	evidence.KindGrantWithoutZnode:     "A client was told that it had the lock, but the servers had granted it nothing",
	evidence.KindGrantOfAnotherSession: "A client was told that it had the lock, but the servers granted another session",
	evidence.KindGrantBeforeEligible:   "A client was told that it had the lock before it was its turn at the servers",
	evidence.KindGrantAfterZnode:       "A client was told that it had the lock after the servers had ended its hold",
	evidence.KindGrantShortOfLeases:    "A client was told that it had more permits than the servers had given it",
	evidence.KindGrantSharesZnode:      "A client was told that it had the lock by the servers' grant to another client",
}

// Unbacked says what the grants were that the servers did not back. That is never two holders at the servers, whose
// rule excludes it.
func (s story) Unbacked() (says string) {
	if v := s.Rep.Check(evidence.ServiceExclusion); v != nil {
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
	return cmp.Or(says, "A client was told that it had a lock that the servers had not granted it")
}

// Undecided reports whether the check of beliefs could not rule out an overlap.
func (s story) Undecided() bool {
	v := s.Rep.Check(evidence.BeliefExclusion)
	return v != nil && v.Result == evidence.Unknown
}

// A holder is a client some of whose holds overlapped with others.
type holder struct{ Holds, Together int64 }

// OneHolder returns the client that is the older holder of all overlaps, if there is one and the overlaps are more than
// its holds.
func (s story) OneHolder() *holder {
	if holds, together, ok := sameHolder(s.Result, s.Rep); ok && holds < *s.Safety.Overlaps {
		return &holder{holds, together}
	}
	return nil
}

// sameHolder returns how many holds of one client overlapped with others, and for how long in all. False if not all
// overlaps have the same client as the older holder, or if not all findings were kept.
func sameHolder(r Result, rep check.Report) (holds int64, together int64, ok bool) {
	all := OverlapFindings(rep)
	var times []spans.Span
	tokens := map[int64]bool{}
	for i := range all {
		f := &all[i]
		if f.Lock != all[0].Lock || f.Clients[0] != all[0].Clients[0] || len(f.Tokens) != 2 || f.Tokens[0] == 0 {
			return 0, 0, false
		}
		tokens[f.Tokens[0]] = true
		times = append(times, spans.Span{From: f.At, Until: f.Until})
	}
	for _, s := range spans.Merged(times) {
		together += s.Lasts()
	}
	return int64(len(tokens)), together, int64(len(all)) == *r.Safety.Overlaps
}

// A cause is what overlaps came from.
type cause struct {
	When, Who string
	Host      string // the host that was struck; empty = the holder itself
	Cause     string
	Longer    bool // than the session timeout
}

// Because returns the cause of the overlaps if all have the same known one and all findings were kept.
func (s story) Because() *cause {
	all := OverlapFindings(s.Rep)
	if len(all) == 0 || int64(len(all)) != *s.Safety.Overlaps ||
		!slices.Contains([]string{"pause", "partition", "kill"}, all[0].Cause) {
		return nil
	}
	c := &cause{When: " after", Who: "one", Cause: all[0].Cause, Longer: true}
	for i := range all {
		if all[i].Cause != all[0].Cause || !all[i].Explained {
			return nil
		}
		c.Longer = c.Longer && outlasts(s.Result, all[i].Fault)
	}
	switch holds, _, same := sameHolder(s.Result, s.Rep); {
	case len(all) == 1:
	case same && holds == 1:
		c.When, c.Who = ", after", "it"
	case same && holds < int64(len(all)):
		c.When, c.Who = ", each time after", "it"
	default:
		c.When = ", each time after"
	}
	var ok bool
	if c.Host, ok = struck(s.Result, all); !ok {
		return nil
	}
	return c
}

// struck returns the hosts that the faults behind the overlaps hit, "" for the older holder's own process. ok is
// false if the faults did not all hit the same.
func struck(r Result, all []evidence.Finding) (host string, ok bool) {
	for i := range all {
		target, known := "", false
		for _, f := range r.Faults {
			if f.ID == all[i].Fault {
				target, known = f.Target, true
			}
		}
		if target == history.HostOf(all[i].Clients[0]) {
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

// Stray reports whether some damage belongs to no overlap of holds that a fault explains.
func (s story) Stray() bool {
	v := s.Rep.Check(evidence.Effect)
	return v != nil && v.Violation && slices.ContainsFunc(v.Findings, func(f evidence.Finding) bool {
		return (f.Kind == evidence.KindStaleAccepted || f.Kind == evidence.KindLostUpdate) && f.Cause == evidence.CauseNone
	})
}

// PlainName is a check's name for a reader who has not seen the list.
func PlainName(name string) string {
	if c, ok := check.Named(name); ok {
		return c.Subject
	}
	return name
}
