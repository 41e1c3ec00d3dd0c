package check

import (
	"fmt"
	"slices"
	"strings"

	"locklab/harness/check/counters"
	"locklab/harness/check/evidence"
	"locklab/harness/history"
)

// remarks says what a reader of the verdicts must know though it is no result of a check: that nothing contended,
// though several clients were to, and that clients waited for a lock in vain while others got it. A recipe that queues
// is held to its order ([progress.LivenessJudge.passedOver]); no other promises a client its turn.
func remarks(d *evidence.Digest) (all []string) {
	if !d.Facts.Exclusive {
		return nil
	}
	asked, starved, grants := starved(d)
	if starved > 0 {
		all = append(all, evidence.Count(int64(starved), "client", "clients")+" of "+
			evidence.Count(int64(asked), "client", "clients")+" never got a lock that they asked for in the measured window, "+
			"while the others got "+evidence.Count(int64(grants), "grant", "grants"))
	}
	if max(asked, d.Facts.Clients) > 1 && !contended(d) {
		all = append(all, "no client asked for a lock while another client had it or waited for it, so nothing put its "+
			"exclusion to the test")
	}
	return all
}

// contended reports whether a client asked for a lock while another one had it or waited for it.
func contended(d *evidence.Digest) bool {
	last := map[string]*history.Acquisition{} // by lock: the one that is over last
	until := map[string]int64{}
	for i := range d.Acquisitions {
		a := &d.Acquisitions[i]
		if last[a.Lock] != nil && last[a.Lock].Client != a.Client && a.Invoked < until[a.Lock] {
			return true
		}
		over := d.End
		switch {
		case a.Granted():
			over = d.BelievedUntil(a)
		case a.Returned != history.None:
			over = a.Returned
		case a.Died != history.None:
			over = a.Died
		}
		if last[a.Lock] == nil || over > until[a.Lock] {
			last[a.Lock], until[a.Lock] = a, over
		}
	}
	return false
}

// starved counts the clients that asked for a lock in the measured window, the grants in it, and the clients among them
// that got none although others got two for each client since they had asked first. After the window every client may
// get the lock once, because the others stop asking.
func starved(d *evidence.Digest) (asked, starved, grants int) {
	from, to := max(d.Measure, 0), d.End
	for _, at := range []int64{d.Collect, d.Drain, d.Closed} {
		if at != history.None {
			to = at
		}
	}
	first, got := map[string]int64{}, map[string]bool{} // by client
	var returned []int64
	for i := range d.Acquisitions {
		a := &d.Acquisitions[i]
		if a.Invoked >= to || a.Returned != history.None && a.Returned < from {
			continue
		}
		if at, seen := first[a.Client]; !seen || a.Invoked < at {
			first[a.Client] = max(a.Invoked, from)
		}
		if a.Granted() && a.Returned >= from && a.Returned < to {
			got[a.Client] = true
			returned = append(returned, a.Returned)
		}
	}
	slices.Sort(returned)
	for client, at := range first {
		if i, _ := slices.BinarySearch(returned, at); !got[client] && len(returned)-i >= 2*len(first) {
			starved++
		}
	}
	return len(first), starved, len(returned)
}

var shownCheck = evidence.Check{
	Name:    evidence.Shown,
	Asks:    "did the run show what it set out to show?",
	Subject: "what the scenario set out to show",
	OfRun:   true,
	Judge:   judgeShown,

	ReadsCounters: true,
}

// judgeShown asks whether the run showed what [evidence.Facts.AtLeast] asks of it. If it did not, the verdict is
// unknown and not fail: nothing is broken, the run was just not worth much.
func judgeShown(d *evidence.Digest, s *evidence.Safety) evidence.Verdict {
	if len(d.Facts.AtLeast) == 0 {
		return evidence.Verdict{Result: evidence.NotApplicable, Summary: "the scenario does not ask for anything to be shown"}
	}
	numbers := map[string]*int64{}
	for _, c := range counters.All() {
		numbers[c.Name] = c.Of(s)
	}
	v := evidence.Verdict{Result: evidence.Pass}
	var parts []string
	for _, name := range evidence.SortedKeys(d.Facts.AtLeast) {
		want := d.Facts.AtLeast[name]
		n, known := numbers[name]
		got := "not a known counter"
		switch {
		case known && n == nil:
			got = "not measured"
		case known:
			got = fmt.Sprint(*n)
		}
		if !known || n == nil || *n < want {
			v.Result = evidence.Unknown
			v.Count++
		}
		parts = append(parts, fmt.Sprintf("%s: %s, wanted at least %d", name, got, want))
	}
	v.Summary = strings.Join(parts, "; ")
	return v
}
