package timeline

import (
	"cmp"
	"slices"

	"locklab/harness/check"
	"locklab/harness/scenario"
	"locklab/reports/result"
)

// featured returns the finding that the run is about, and the name of the check that found it; nil if there is none.
//
//   - Of a known bug's scenario, it is what the check found that must find the bug.
//   - Otherwise it is the worst: an overlap that nothing explains, else another violation, else the overlap that did
//     the most damage. The picture of an overlap shows the damage at the resource too, so a violation that is such
//     damage comes last.
func featured(in result.Input) (string, *check.Finding) {
	if bug, ok := scenario.BugOf(in.Scenario); ok {
		if f := in.Report.Found(string(bug.Check), bug.Kinds, bug.Cause); f != nil && f.Lock != "" {
			return string(bug.Check), f
		}
	}
	overlaps := result.OverlapFindings(in.Report)
	if i := slices.IndexFunc(overlaps, func(f check.Finding) bool { return !f.Explained }); i >= 0 {
		return check.BeliefExclusion, &overlaps[i]
	}
	if name, f := violation(in.Report); f != nil && (name != check.Effect || len(overlaps) == 0) {
		return name, f
	}
	if len(overlaps) == 0 {
		return "", nil
	}
	harm := harmOf(in.Report)
	worst := slices.MinFunc(overlaps, func(a, b check.Finding) int {
		return cmp.Or(cmp.Compare(harm[olderOf(b)], harm[olderOf(a)]), cmp.Compare(a.At, b.At))
	})
	return check.BeliefExclusion, &worst
}

// violation returns the first finding about a lock of a check that found a violation, and that check's name. The check
// of the effect comes after all others.
func violation(report check.Report) (name string, found *check.Finding) {
	for i := range report.Checks {
		v := &report.Checks[i]
		j := slices.IndexFunc(v.Findings, func(f check.Finding) bool { return f.Lock != "" })
		if v.Violation && j >= 0 && (found == nil || name == check.Effect) {
			name, found = v.Name, &v.Findings[j]
		}
	}
	return name, found
}

// An outdatedHold names the hold that others have superseded.
type outdatedHold struct {
	lock, client string
	token        int64
}

// olderOf names the older hold of an overlap.
func olderOf(f check.Finding) outdatedHold {
	h := outdatedHold{lock: f.Lock, client: f.Clients[0]}
	if len(f.Tokens) > 0 {
		h.token = f.Tokens[0]
	}
	return h
}

// The worst that a hold did when it was outdated. An access that its client made without knowing shows best what a
// lock cannot prevent.
const (
	accessRefused = iota + 1
	untoldRefused
	accessAccepted
	updateLost
	untoldAccepted
)

// harmOf returns the worst that each hold did when it was outdated.
func harmOf(report check.Report) map[outdatedHold]int {
	harm := map[outdatedHold]int{}
	v := report.Check(check.Effect)
	if v == nil {
		return harm
	}
	for i := range v.Findings {
		f := &v.Findings[i]
		did := map[check.Kind]int{check.KindStaleRejected: accessRefused, check.KindStaleAccepted: accessAccepted,
			check.KindLostUpdate: updateLost}[f.Kind]
		switch {
		case did == 0 || len(f.Clients) == 0 || len(f.Tokens) != len(f.Clients):
			continue
		case f.Untold && did == accessRefused:
			did = untoldRefused
		case f.Untold:
			did = untoldAccepted
		}
		last := len(f.Clients) - 1 // the client of the access; before it stands the one that superseded it
		h := outdatedHold{f.Lock, f.Clients[last], f.Tokens[last]}
		harm[h] = max(harm[h], did)
	}
	return harm
}
