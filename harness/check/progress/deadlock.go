package progress

import (
	"fmt"
	"strings"

	"locklab/ensembles/txnlog/nodes"
	"locklab/harness/check/evidence"
	"locklab/harness/history"
)

// deadlock names a stall of a semaphore that is a deadlock by the servers' transaction logs: all permits are taken, and
// every lease is that of a client which waits for the rest of what it wants. The lock takes the permits of an
// acquisition one after another then, so that is how it works, and nothing but a time limit ends it.
func (l *LivenessJudge) deadlock(f *evidence.Finding, all []*history.Acquisition) {
	if l.Servers == nil || l.Servers.Layout != nodes.LayoutSemaphore || len(l.Servers.DoubtedBecause()) > 0 {
		return
	}
	// What counts is the third quarter of the stall: at its beginning clients are still coming and taking leases, and at
	// its end they may be giving up. A lease beyond the permits only waits.
	clock, middle, late := l.Servers.Clock, f.At+(f.Until-f.At)/2, f.At+(f.Until-f.At)/4*3
	waits := func(client string) *history.Acquisition {
		for _, a := range all {
			if from, until := l.Waited(a); a.Client == client && from <= middle && until >= late {
				return a
			}
		}
		return nil
	}
	taken, has := 0, map[string]int64{}
	for _, s := range l.Servers.Lanes[f.Lock].Spans {
		if clock.At(s.FromTime) <= middle && (s.To == 0 || clock.At(s.ToTime)+clock.Err >= late) {
			taken++
			has[l.ClientOf[history.SessionID(s.Owner)]]++
		}
	}
	if taken < l.Facts.Permits {
		return
	}
	var parts []string
	for _, client := range evidence.SortedKeys(has) {
		a := waits(client)
		if client == "" || a == nil || has[client] >= a.Permits {
			return
		}
		parts = append(parts, fmt.Sprintf("%s has %d of the %d that it wants", client, has[client], a.Permits))
	}
	f.Kind = evidence.KindDeadlock
	f.Text = fmt.Sprintf("clients of %s were in a deadlock for %s from %s: all %s are taken, and each client that has "+
		"one waits for more: %s; this lock takes permits one after another, so that is how it works, and only a wait "+
		"ends it",
		f.Lock, evidence.Length(f.Until-f.At), evidence.Seconds(f.At), evidence.Count(int64(taken), "permit",
			"permits"), strings.Join(parts, ", "))
}
