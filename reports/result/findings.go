package result

import (
	"locklab/harness/check"
)

// findingOverlap is the kind of the check's findings that two clients believed at once that they held a lock.
const findingOverlap = check.KindOverlap

// OverlapFindings returns the findings that two clients believed at once that they held a lock, in the order of the
// check.
func OverlapFindings(rep check.Report) []check.Finding {
	var all []check.Finding
	if v := rep.Check(check.BeliefExclusion); v != nil {
		for _, f := range v.Findings {
			if IsOverlap(&f) {
				all = append(all, f)
			}
		}
	}
	return all
}

// IsOverlap reports whether a finding is an overlap of two clients' holds.
func IsOverlap(f *check.Finding) bool { return f.Kind == findingOverlap && len(f.Clients) == 2 }
