package reports

import "locklab/harness/check"

// The kinds of findings that the pictures know, as check writes them.
const (
	findingOverlap       = "overlap"
	findingStaleAccepted = "stale-accepted"
)

// overlapFindings returns the findings that two clients believed at once, in the order
// of the check.
func overlapFindings(rep check.Report) []check.Finding {
	var all []check.Finding
	if v := rep.Check(check.BeliefExclusion); v != nil {
		for _, f := range v.Findings {
			if f.Kind == findingOverlap && len(f.Clients) == 2 {
				all = append(all, f)
			}
		}
	}
	return all
}
