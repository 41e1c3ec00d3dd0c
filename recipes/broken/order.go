package broken

import (
	"cmp"
	"fmt"
	"slices"
)

// Locks that get the order of the contenders wrong.

// bySession begins names with the session's id, as ZooKeeper's WriteLock for Java and for C does.
func bySession(s session, guid string) string {
	return fmt.Sprintf("x-%016x-%s-%s", uint64(s.ID), guid, locking)
}

// nameOrder compares the whole names, which begin with the session.
func nameOrder(cfg Config) Ways {
	q := newQueue(cfg, cfg.Path, locking)
	q.prefix = bySession
	q.blocker = func(a *attempt, all []contender) string { return floor(a, all) }
	return Ways{Write: q}
}

// wrongPredecessor decides by the numbers whether it is its turn, but chooses the contender to watch by the whole
// names.
func wrongPredecessor(cfg Config) Ways {
	q := newQueue(cfg, cfg.Path, locking)
	q.prefix = bySession
	q.blocker = func(a *attempt, all []contender) string {
		if predecessor(a, all) == "" {
			return ""
		}
		return cmp.Or(floor(a, all), all[0].name)
	}
	return Ways{Write: q}
}

// floor returns the greatest name below the attempt's own, or "".
func floor(a *attempt, all []contender) (name string) {
	for _, c := range all {
		if c.name < a.name {
			name = max(name, c.name)
		}
	}
	return name
}

// sequenceToken uses the sequence number as token, counted from 1. It starts over when the service has removed the
// unused directory.
func sequenceToken(cfg Config) Ways {
	q := newQueue(cfg, cfg.Path, locking)
	q.token = func(a *attempt) int64 { return a.seq + 1 }
	return Ways{Write: q}
}

// laterWriters is a read/write lock whose readers wait for all writers, even for those behind them, which in turn
// wait for the readers.
func laterWriters(cfg Config) Ways {
	w := newReadWrite(cfg)
	w.read.blocker = func(_ *attempt, all []contender) string {
		i := slices.IndexFunc(all, func(c contender) bool { return c.kind == writing })
		if i < 0 {
			return ""
		}
		return all[i].name
	}
	return Ways{Write: w.write, Read: w.read}
}
