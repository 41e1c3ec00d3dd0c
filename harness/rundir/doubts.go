package rundir

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"locklab/chaos"
	"locklab/ensembles/txnlog"
	"locklab/harness/check"
	"locklab/harness/history"
)

// doubtCompleteness says why the merged logs may lack something that happened after a zxid. Within an epoch,
// transactions are numbered from 1 without a gap.
func doubtCompleteness(all *txnlog.Ensemble, since int64) []string {
	var doubts []string
	if len(all.Entries) == 0 {
		return []string{"the servers' logs are empty"}
	}
	undecided, missing := 0, int64(0)
	last := since
	if since == 0 {
		last = all.Entries[0].Zxid
	}
	for i := range all.Entries {
		e := &all.Entries[i]
		if e.Zxid>>32 == last>>32 && e.Zxid > last+1 {
			missing += e.Zxid - last - 1
		}
		if counter := e.Zxid & (1<<32 - 1); e.Zxid>>32 > last>>32 && counter > 1 {
			missing += counter - 1
		}
		last = max(last, e.Zxid)
		if e.Fate == txnlog.Undecided && e.Type != txnlog.Error {
			undecided++
		}
	}
	if first := all.Entries[0].Zxid; since == 0 && first != 1 && first != 1<<32+1 {
		doubts = append(doubts, fmt.Sprintf("the servers' logs begin at zxid %s, and it is not known where the run began",
			check.Zxid(first)))
	}
	if missing > 0 {
		doubts = append(doubts, fmt.Sprintf("%d transactions are in no server's log", missing))
	}
	if undecided > 0 {
		doubts = append(doubts, fmt.Sprintf("the logs do not say whether %d transactions were committed",
			undecided))
	}
	return doubts
}

// doubtEnd says why the merged logs may lack the end of the run. They must reach every transaction that servers or
// clients are known to have seen. After the last grant they must have one of the writes that the servers commit before
// their logs are copied.
func doubtEnd(all *txnlog.Ensemble, copied collection) []string {
	var last, settled int64
	for t := range all.Committed() {
		last = t.Zxid
		if slices.ContainsFunc(t.Ops, func(o txnlog.Op) bool {
			return o.Type.Creates() && strings.HasPrefix(o.Path, barrier)
		}) {
			settled = t.Zxid
		}
	}
	end := "the servers' logs end at zxid " + check.Zxid(last)
	switch {
	case last < copied.seen:
		return []string{fmt.Sprintf("%s, and every server had seen zxid %s", end, check.Zxid(copied.seen))}
	case last < copied.granted:
		return []string{fmt.Sprintf("%s, and a client was told of zxid %s", end, check.Zxid(copied.granted))}
	case settled <= max(copied.since, copied.granted):
		return []string{end + " without the writes that the servers commit before their logs are copied"}
	}
	return nil
}

// steppedMs is the error of a leader's clock from which on the times of its transactions prove nothing.
const steppedMs = 100

// doubtTimes says why the times of transactions may not be those of the one wall clock that all hosts share: a
// leader's clock went back, or was ahead of the last reading of the wall clock, which is given in ms. From one leader
// to the next, only committed transactions are in the order of time, because a leader that is cut off goes on preparing
// transactions that are never committed.
func doubtTimes(all *txnlog.Ensemble, since, ended int64) []string {
	var epoch, last, committed, back, ahead int64
	for i := range all.Entries {
		e := &all.Entries[i]
		if e.Zxid <= since {
			continue // from before the run
		}
		if e.Zxid>>32 != epoch {
			epoch, last = e.Zxid>>32, e.Time
		}
		last = max(last, e.Time)
		back, ahead = max(back, last-e.Time), max(ahead, e.Time-ended)
		if e.Fate == txnlog.Committed {
			committed = max(committed, e.Time)
			back = max(back, committed-e.Time)
		}
	}
	var doubts []string
	if back > steppedMs {
		doubts = append(doubts, fmt.Sprintf("a leader's clock went back by %d ms", back))
	}
	if ended != 0 && ahead > steppedMs {
		doubts = append(doubts, fmt.Sprintf("a leader's clock was ahead by %d ms or more", ahead))
	}
	return doubts
}

// doubtSteppedClocks says why the times of transactions may be wrong although they are in order: a fault stepped the
// clock of a server that led then, or may have led since. Where nothing was written for longer than the step, the times
// do not show it.
func doubtSteppedClocks(all *txnlog.Ensemble, since int64, events *history.Log) []string {
	step, led := map[string]bool{}, map[string]bool{} // by fault
	for _, e := range events.Where(history.Op.IsFault) {
		switch {
		case !chaos.KindOf(e.FaultStep().Fault).StepsClock:
		case e.Op == history.OpFaultInject && e.Kind != history.Invoke:
			step[e.Fault] = true // a fault that failed may have stepped the clock all the same
		case e.Op == history.OpFaultAim && e.FaultStep().Leads:
			led[e.Fault] = true
		}
	}
	elections := 0
	epoch := since >> 32
	for i := range all.Entries {
		if e := all.Entries[i].Zxid >> 32; e > epoch {
			if epoch != 0 {
				elections++
			}
			epoch = e
		}
	}
	for _, fault := range slices.Sorted(maps.Keys(step)) {
		if led[fault] || elections > 0 {
			return []string{fmt.Sprintf("fault %s stepped the clock of a server that may have led, "+
				"and transactions have the times of their leader's clock", fault)}
		}
	}
	return nil
}
