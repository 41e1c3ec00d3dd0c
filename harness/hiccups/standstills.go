package hiccups

import (
	"time"

	"locklab/harness/history"
)

// breath is how long a process that stood still may go on before it stands still again, so that both count as one
// standstill: it may have sent nothing meanwhile. Shorter standstills than longBreath are a busy machine's, on which
// processes go on in between.
const (
	breath     = int64(100 * time.Millisecond)
	longBreath = 500 * time.Millisecond
)

// Standstills returns the long hiccups that processes recorded, by process and in order. Those that follow each other
// within a breath are one, unless the process recorded something else in between, or its clients have drivers, because
// they may be of different drivers.
func Standstills(events *history.Log) map[string][]*history.Event {
	drivers := map[string]bool{}
	for _, e := range events.Of(history.OpDriver) {
		drivers[e.Process] = true
	}
	all := map[string][]*history.Event{}
	for _, e := range events.Of(history.OpHiccup) {
		of := all[e.Process]
		if n := len(of); n > 0 && !drivers[e.Process] && joined(events, of[n-1], &e) {
			e.Value = e.At - (of[n-1].At - int64(of[n-1].Hiccup()))
			of[n-1] = &e
			continue
		}
		all[e.Process] = append(of, &e)
	}
	return all
}

// joined reports whether two standstills of a process count as one.
func joined(events *history.Log, first, second *history.Event) bool {
	gap := second.At - int64(second.Hiccup()) - first.At
	if min(first.Hiccup(), second.Hiccup()) < longBreath || gap < 0 || gap > breath {
		return false
	}
	for _, e := range events.Since(first.At) {
		if e.At >= first.At+gap {
			break
		}
		if e.Process == first.Process && e.Op != history.OpHiccup {
			return false
		}
	}
	return true
}
