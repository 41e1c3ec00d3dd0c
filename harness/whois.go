package harness

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"locklab/chaos"
	"locklab/harness/scenario"
)

// A place is a client's in a lock's queue. A client whose lock does not tell when it has one (zk.Lock, and whatever is
// behind the lock protocol and does not say) is taken to have had it since it asked: it is in the queue within a round trip.
type place struct {
	lock string
	at   int64
}

// placed takes note that the clients of a host tell of their places: who of them has only asked is in no
// queue yet. l.mu is held.
func (l *live) placed(host string) {
	if l.tells[host] {
		return
	}
	l.tells[host] = true
	maps.DeleteFunc(l.queued, func(client string, _ place) bool { return hostOf(client) == host })
}

// nobodyCap is how long a fault waits for somebody to hold or to wait.
const nobodyCap = 5 * time.Second

// whoIs finds the client that has the role now (or the server, of a holder), waiting until there is one. It goes by what has
// arrived of the histories, so the role may have passed on; the history tells.
func (l *live) whoIs(ctx context.Context, role string) (who, why string, err error) {
	find := map[string]func() (string, string){scenario.TargetHolder: l.holder, scenario.TargetHolderServer: l.holderServer,
		scenario.TargetHeadWaiter: l.headWaiter, scenario.TargetWaiter: l.waiter}[role]
	ctx, cancel := context.WithTimeout(ctx, nobodyCap)
	defer cancel()
	err = l.wait(ctx, func() bool {
		who, why = find()
		return who != ""
	})
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%w: no %s in %s", chaos.ErrNobody, role, nobodyCap)
	}
	return who, why, err
}

// lastHold returns the latest hold that lasts, of a process that runs. l.mu is held.
func (l *live) lastHold() (lock string, found hold) {
	for _, name := range slices.Sorted(maps.Keys(l.holds)) {
		for _, h := range l.holds[name] {
			if h.until == 0 && l.runs(hostOf(h.client)) && h.from > found.from {
				lock, found = name, h
			}
		}
	}
	return lock, found
}

func (l *live) holder() (client, why string) {
	lock, h := l.lastHold()
	if h.client == "" {
		return "", ""
	}
	return h.client, h.client + " holds " + lock
}

func (l *live) holderServer() (server, why string) {
	lock, h := l.lastHold()
	return l.servers[h.session], h.client + " holds " + lock
}

// inQueue returns the clients that wait in a queue and whose process runs, the first of each queue first. l.mu is held.
func (l *live) inQueue() []string {
	clients := slices.Collect(maps.Keys(l.queued))
	clients = slices.DeleteFunc(clients, func(c string) bool { return !l.runs(hostOf(c)) })
	slices.SortFunc(clients, func(a, b string) int {
		return cmp.Or(cmp.Compare(l.queued[a].at, l.queued[b].at), strings.Compare(a, b))
	})
	return clients
}

// headWaiter is who came first of those that wait; a queue that is first come, first served grants it next.
func (l *live) headWaiter() (client, why string) {
	if all := l.inQueue(); len(all) > 0 {
		return all[0], all[0] + " is next for " + l.queued[all[0]].lock
	}
	return "", ""
}

// waiter is who came last, and so waits the longest from now on.
func (l *live) waiter() (client, why string) {
	if all := l.inQueue(); len(all) > 0 {
		last := all[len(all)-1]
		return last, last + " waits for " + l.queued[last].lock
	}
	return "", ""
}

// runs reports whether a host's process does. l.mu is held.
func (l *live) runs(host string) bool {
	_, exited := l.exited[host]
	return !exited && !l.stopped[host]
}

// forget drops what the clients of a process that has ended held and waited for. l.mu is held.
func (l *live) forget(host string) {
	of := func(client string) bool { return hostOf(client) == host }
	for lock := range l.holds {
		for i := range l.holds[lock] {
			if h := &l.holds[lock][i]; of(h.client) && h.until == 0 {
				h.until = h.from
			}
		}
	}
	maps.DeleteFunc(l.queued, func(c string, _ place) bool { return of(c) })
	maps.DeleteFunc(l.waiting, func(c string, _ int64) bool { return of(c) })
	maps.DeleteFunc(l.away, func(c string, _ bool) bool { return of(c) })
}

// hostOf is the host of a client's process.
func hostOf(client string) string {
	host, _, _ := strings.Cut(client, "/")
	return host
}

// struckAt returns the client of a host that stopped itself for a fault; empty if none did.
func (l *live) struckAt(fault, host string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, _ := l.trigger(fault, host)
	return e.Client
}
