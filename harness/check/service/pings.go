package service

import (
	"maps"
	"slices"
	"time"

	"locklab/harness/check/spans"
	"locklab/harness/history"
)

// Unanswered are the times in which each server of an ensemble elsewhere kept a write of the harness waiting for so
// long, or did not carry it out.
func Unanswered(events *history.Log, least time.Duration) spans.List {
	slow := map[string][]spans.Span{}
	for _, e := range events.Of(history.OpPing) {
		p := e.Ping()
		all := slow[p.Server]
		if e.Kind == history.Fail || p.Took >= least {
			all = append(all, spans.Span{From: e.At - int64(p.Took), Until: e.At})
		}
		slow[p.Server] = all
	}
	var common spans.List
	for i, server := range slices.Sorted(maps.Keys(slow)) {
		of := spans.Merged(slow[server])
		if i == 0 {
			common = of
			continue
		}
		var both []spans.Span
		for _, s := range of {
			both = slices.AppendSeq(both, common.Cut(s.From, s.Until))
		}
		common = both
	}
	return common
}
