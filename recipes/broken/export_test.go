package broken

import (
	"fmt"
	"maps"
	"slices"

	"github.com/go-zookeeper/zk"
)

// Mended holds the locks of this package with their one wrong step put right, which is what remains when the
// replacement step is left out.
var Mended = map[string]func(Config) Ways{
	"missing-own":       mutex,
	"stale-own":         mutex,
	"local-reentry":     mutex,
	"lost-create":       mutex,
	"unsynced-search":   mutex,
	"name-order":        bySessionMutex,
	"wrong-predecessor": bySessionMutex,
	"lost-wakeup":       mutex,
	"cancelled-cleanup": mutex,
	"sequence-token":    mutex,
	"later-writers":     readWriteLock,
	"queued-downgrade":  readWriteLock,
	"local-read":        readWriteLock,
	"dead-lease":        permits,
	"leaked-lease":      permits,
	"partial-permits":   permits,
	"forgetful-session": mutex,
	"blind-delete":      queuedWrite, // the other lock that has one znode
}

func mutex(cfg Config) Ways { return Ways{Write: newQueue(cfg, cfg.Path, locking)} }

func bySessionMutex(cfg Config) Ways {
	q := newQueue(cfg, cfg.Path, locking)
	q.prefix = bySession
	return Ways{Write: q}
}

func permits(cfg Config) Ways { return Ways{Permits: newSemaphore(cfg)} }

// readWriteLock downgrades at the writer's place, if the writer is still there.
func readWriteLock(cfg Config) Ways {
	return newReadWrite(cfg).downgrading(func(c client, a *attempt) (string, error) {
		node := fmt.Sprintf("%s%010d", readerPath(a), a.seq)
		_, err := c.Conn.Multi(&zk.CheckVersionRequest{Path: a.path(), Version: -1},
			&zk.CreateRequest{Path: node, Acl: everybody, Flags: zk.FlagEphemeral})
		return node, err
	})
}

// Made are the names of the locks that this package makes.
func Made() []string {
	return slices.Concat(slices.Collect(maps.Keys(makers)), slices.Collect(maps.Keys(decorators)))
}
