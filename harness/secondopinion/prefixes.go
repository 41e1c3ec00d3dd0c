package secondopinion

import (
	"fmt"

	"locklab/harness/check"
	"locklab/harness/check/evidence"
	"locklab/harness/history"
)

const prefixQuestion = "was a list read that is not a prefix of the final one?"

// askPrefixes asks of each list whether every read of it was a prefix of the list in the end. A read is recorded by the
// list's last element, and a write by the element that it went behind, so the elements of a read are known from the
// chain of writes that leads to its last one.
//
// It needs no search, so it has an opinion on lists of any length. A list that was read, and is not a prefix of the
// final list, lost elements, so the effect check cannot have passed. The reverse does not hold: an element can
// be lost that nobody read.
func askPrefixes(events *history.Log, facts evidence.Facts, report *check.Report) []Opinion {
	behind := map[string]map[int64]history.Behind{} // by lock and element
	reads := map[string]map[int64]int64{}           // by lock and last element: when it was read first
	for _, e := range events.All() {
		if !ownRecord(&e) {
			continue
		}
		switch {
		case e.Op == history.OpWrite && e.Kind == history.Invoke && e.Access().Behind != "":
			if behind[e.Lock] == nil {
				behind[e.Lock] = map[int64]history.Behind{}
			}
			behind[e.Lock][e.Access().Value] = e.Access().Behind
		case e.Op == history.OpRead && e.Kind == history.OK:
			if reads[e.Lock] == nil {
				reads[e.Lock] = map[int64]int64{}
			}
			if _, seen := reads[e.Lock][e.Access().Value]; !seen {
				reads[e.Lock][e.Access().Value] = e.At
			}
		}
	}
	effect := report.Check(evidence.Effect)
	var opinions []Opinion
	for _, lock := range sortedKeys(reads) {
		o := Opinion{Question: prefixQuestion, Lock: lock, Sweep: None, Second: No, Operations: len(reads[lock])}
		if effect != nil && effect.Result == evidence.Pass {
			o.Sweep = No
		}
		final, known := facts.FinalLists[lock]
		if !known {
			o.Second, o.Why = None, "the final list is not known"
			opinions = append(opinions, o)
			continue
		}
		prefix := map[int64]bool{0: true} // by last element: the list up to it is a prefix of the final one
		before := int64(0)
		for _, element := range final {
			prefix[element] = prefix[before] && behind[lock][element] == history.NewBehind(before)
			before = element
		}
		for _, element := range sortedKeys(reads[lock]) {
			if !prefix[element] {
				o.Second = Yes
				o.Why = fmt.Sprintf("the list that ended with %d was read at %.6f s", element,
					float64(reads[lock][element])/1e9)
				break
			}
		}
		opinions = append(opinions, o)
	}
	return opinions
}
