package check

import (
	"fmt"
	"strings"
)

// shown asks whether the run showed what [Facts.AtLeast] wants of it. Falling
// short is unknown, not fail: nothing is broken, the run was just not worth much.
func shown(d *digest, s *Safety) Verdict {
	if len(d.facts.AtLeast) == 0 {
		return Verdict{Result: NotApplicable, Summary: "nothing in particular was to be shown"}
	}
	numbers := map[string]*int64{
		"double_grants": s.DoubleGrants, "overlaps": s.Overlaps, "overlaps_unexplained": s.OverlapsUnexplained,
		"max_overlap_ns": s.MaxOverlapNs, "stale_accepted": s.StaleAccepted, "stale_rejected": s.StaleRejected,
		"late_accepted": s.LateAccepted, "lost_updates": s.LostUpdates, "false_rejections": s.FalseRejections,
		"torn_reads": s.TornReads, "crowded": s.Crowded,
	}
	v := Verdict{Result: Pass}
	var parts []string
	for _, name := range sortedKeys(d.facts.AtLeast) {
		want := d.facts.AtLeast[name]
		n, known := numbers[name]
		got := "not a number that checks know"
		switch {
		case known && n == nil:
			got = "not measured"
		case known:
			got = fmt.Sprint(*n)
		}
		if !known || n == nil || *n < want {
			v.Result = Unknown
			v.Count++
		}
		parts = append(parts, fmt.Sprintf("%s: %s, wanted at least %d", name, got, want))
	}
	v.Summary = strings.Join(parts, "; ")
	return v
}
