package txnlog_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"locklab/ensembles/txnlog"
)

// Merge decides as it reads. It must agree with an oracle that reads everything before it decides.
func TestMergeAgainstAnOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 5).Draw(t, "size")
		var logs [][]txnlog.Txn
		var sources []txnlog.Source
		for i := range rapid.IntRange(1, size).Draw(t, "sources") {
			var log []txnlog.Txn
			for n := range rapid.IntRange(0, 12).Draw(t, "length") {
				z := int64(n/4+1)<<32 + int64(n%4+1)
				switch rapid.IntRange(0, 9).Draw(t, "what") {
				case 0, 1, 2: // it lacks it
				case 3:
					log = append(log, set(z, "/other"))
				case 4:
					log = slices.Insert(log, rapid.IntRange(0, len(log)).Draw(t, "place"), set(z, "/a"))
				default:
					log = append(log, set(z, "/a"))
				}
			}
			logs, sources = append(logs, log), append(sources, server(fmt.Sprint("zk", i+1), file(log...)))
		}
		all, err := merge(size, sources...)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range all.entries {
			got = append(got, fmt.Sprintf("%x %s %v %v", e.Zxid, e.Ops[0].Path, e.Servers, e.Fate))
		}
		if d := cmp.Diff(oracle(size, logs), got); d != "" {
			t.Error(d)
		}
	})
}

// oracle returns what Merge must find in the logs of zk1, zk2 and so on.
func oracle(size int, logs [][]txnlog.Txn) (found []string) {
	type has struct {
		path string
		by   []string
		acks int // those of by that logged it before a transaction of a later epoch
		fate txnlog.Fate
		more bool // another record has its zxid
	}
	entries := map[int64]*has{}
	for z := range zxids(logs) {
		by, inTime := map[string][]string{}, map[string]map[string]bool{}
		first := ""
		for i, log := range logs {
			late := false
			for _, txn := range log {
				late = late || txn.Zxid>>32 > z>>32
				name, path := fmt.Sprint("zk", i+1), txn.Ops[0].Path
				if txn.Zxid == z && !late {
					if inTime[path] == nil {
						inTime[path] = map[string]bool{}
					}
					inTime[path][name] = true
				}
				if txn.Zxid == z && !slices.Contains(by[path], name) {
					by[path] = append(by[path], name)
					if first == "" {
						first = path
					}
				}
			}
		}
		for path := range by {
			if len(by[path]) > len(by[first]) {
				first = path
			}
		}
		entries[z] = &has{path: first, by: by[first], acks: len(inTime[first]), more: len(by) > 1}
	}
	quorum, missing := size/2+1, size-len(logs)
	next := map[string]int64{} // by server: the next committed one in its log
	sorted := slices.Sorted(maps.Keys(entries))
	for _, z := range slices.Backward(sorted) {
		e := entries[z]
		e.fate = txnlog.Uncommitted
		if len(e.by)+missing >= quorum {
			e.fate = txnlog.Undecided
		}
		for _, s := range e.by {
			if later, ok := next[s]; ok && later>>32 == z>>32 && !e.more || e.acks >= quorum {
				e.fate = txnlog.Committed
				break
			} else if ok {
				e.fate = txnlog.Undecided
			}
		}
		if e.fate == txnlog.Committed {
			for _, s := range e.by {
				next[s] = z
			}
		}
	}
	for _, z := range sorted {
		e, first := entries[z], entries[(z>>32+1)<<32+1]
		if e.fate == txnlog.Undecided && missing == 0 && first != nil &&
			!slices.ContainsFunc(e.by, func(s string) bool { return slices.Contains(first.by, s) }) {
			e.fate = txnlog.Uncommitted
		}
		found = append(found, fmt.Sprintf("%x %s %v %v", z, e.path, e.by, e.fate))
	}
	return found
}

func zxids(logs [][]txnlog.Txn) map[int64]bool {
	all := map[int64]bool{}
	for _, log := range logs {
		for _, txn := range log {
			all[txn.Zxid] = true
		}
	}
	return all
}
