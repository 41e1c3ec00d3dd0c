package runpage

import (
	"fmt"
	"strings"

	"locklab/harness/check"
	"locklab/reports/result"
	"locklab/reports/words"
	"locklab/workloads/guard"
)

// adviceSection says what a reader is to do after what the run showed: nothing after a run without damage, and what
// stops the damage or shows the violation again after others.
func adviceSection(in result.Input) section {
	s := section{ID: "what-to-do", Title: "What to do", Open: true}
	r := &in.Result
	switch {
	case r.Outcome == result.Violation:
		s.Brief = "see it again, then report it"
		for i := range in.Report.Checks {
			if v := &in.Report.Checks[i]; v.Violation {
				s.Parts = append(s.Parts, part{List: violationAdvice(v, r.Seed)})
			}
		}
		if harmed(r) {
			s.Parts = append(s.Parts, guardAdvice(r))
		}
	case r.Outcome == result.DamageShown || harmed(r):
		s.Brief = "make the resource refuse outdated accesses"
		s.Parts = append(s.Parts, guardAdvice(r))
	case r.Outcome == result.ThresholdMissed:
		s.Brief = "look at what was missed"
		s.note("The lock is safe by this run, and too slow or too uneven for a threshold; see Thresholds. Run it again " +
			"before you act on one run: figures of a shared machine differ from run to run.")
	case r.Outcome == result.Inconclusive:
		s.Brief = "find out what was missing"
		s.note("This run answers nothing. Warnings and Checks say what it lacks, such as a fault that did not strike, or " +
			"a record that is not whole. Mend that, and run it again.")
	default:
		s.Open, s.Brief = false, "nothing"
		s.note("Nothing. A pass says that this lock kept its promises under these faults and this load, not that it " +
			"always will: a lock alone does not protect data from a client that stands still. See " + guard.Manual +
			" in locklab's repository.")
	}
	return s
}

// harmed reports whether the run has damage to the data that a guard would have kept from it.
func harmed(r *result.Result) bool {
	positive := func(n *int64) bool { return n != nil && *n > 0 }
	return positive(r.Safety.StaleAccepted) || positive(r.Safety.LostUpdates)
}

// violationAdvice says of a violation which check and which operations it is, and how to see it again.
func violationAdvice(v *check.Verdict, seed uint64) []string {
	all := []string{fmt.Sprintf("The check %s failed, which must not happen here: %s.", v.Name,
		strings.TrimSuffix(v.Summary, "."))}
	if len(v.Findings) > 0 {
		f := &v.Findings[0]
		which := "Look at " + strings.TrimSuffix(f.Text, ".") + "."
		if len(f.Numbers) > 0 {
			which += fmt.Sprintf(" Its operations are lines %s of history.jsonl.", strings.Trim(fmt.Sprint(f.Numbers), "[]"))
		}
		all = append(all, which)
	}
	return append(all, fmt.Sprintf("To see it again, run locklab run ./scenario.yaml in this run's directory. The seed "+
		"%d draws the same plan; the interleaving differs, so try it several times.", seed),
		"To be sure of the verdict without a lab, run locklab check on this directory, which judges its raw files again.",
		"Keep the directory. Whoever looks after the lock needs it whole.")
}

// guardAdvice says which guards stop damage and how each is built.
func guardAdvice(r *result.Result) part {
	p := part{Heading: "What stops this damage"}
	fences := r.Guard == guard.Fencing
	if fences {
		p.Note = "The resource fences already, so an outdated access that it accepted is a fault of the fence: its " +
			"comparison and its write have to be one atomic step."
	} else {
		p.Note = fmt.Sprintf("This run's guard was “%s”. No lock keeps a client that stands still from writing when it goes "+
			"on; only what it writes to can refuse. Each grant has a number that only rises, the fencing token. Let each "+
			"access carry it, and refuse what is older than what was seen:", r.Guard)
	}
	p.List = guard.HowTo()
	if !fences {
		p.List = append(p.List, "To see the difference, run locklab run mutex-pause-fencing.")
	}
	p.List = append(p.List, "What each guard costs and lets through: "+guard.Manual+" in locklab's repository. A program "+
		"with SQLite that counts refused rows: recipes/examples/sqlite.")
	return p
}

// measured says in a sentence what was measured, for a reader who has not run it.
func measured(in result.Input) string {
	r := &in.Result
	clients := fmt.Sprintf("%s in %s", count(r.Clients, "client"), count(r.ClientProcesses, "process"))
	what := fmt.Sprintf("%s wanted %s (recipe %s, guard %s)", clients, count(r.Locks, "lock"), r.Recipe, r.Guard)
	where := fmt.Sprintf("on %s in a lab of kind %s", count(r.Servers, "ZooKeeper server"), r.Lab)
	if in.Scenario.Connect != "" {
		where = "on an ensemble that was already there"
	}
	s := fmt.Sprintf("What was measured: %s %s", what, where)
	if r.LengthNs > 0 {
		s += fmt.Sprintf(", for %s", duration(&r.LengthNs))
	}
	kinds, n := []string{}, map[string]int{}
	for _, f := range r.Faults {
		if n[f.Kind]++; n[f.Kind] == 1 {
			kinds = append(kinds, f.Kind)
		}
	}
	for i, k := range kinds {
		if n[k] > 1 {
			kinds[i] = fmt.Sprintf("%s (%d times)", k, n[k])
		}
	}
	if len(kinds) == 0 {
		return s + ". No fault was injected."
	}
	return s + ". Faults that were injected: " + strings.Join(kinds, ", ") + "."
}

func count(n int, noun string) string { return words.Count(int64(n), noun) }
