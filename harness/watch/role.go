package watch

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
	"locklab/harness/history"
)

// roleCap is how long a fault waits for a client to hold or to wait.
const roleCap = 5 * time.Second

// Find returns the client that has the role now, or the server that a holder is connected to. It waits until there is
// one. It goes by the histories that have arrived, so the role may have passed on since; the merged history tells.
func (v *View) Find(ctx context.Context, role chaos.Target) (name, why string, err error) {
	find := map[chaos.Target]func() (string, string){
		chaos.TargetHolder:       v.holder,
		chaos.TargetHolderServer: v.holderServer,
		chaos.TargetHeadWaiter:   v.headWaiter,
		chaos.TargetWaiter:       v.lastWaiter,
	}[role]
	ctx, cancel := context.WithTimeout(ctx, roleCap)
	defer cancel()
	err = v.Wait(ctx, func(State) bool {
		name, why = find()
		return name != ""
	})
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%w: no %s in %s", chaos.ErrNobody, role, roleCap)
	}
	return name, why, err
}

// lastHold returns the latest hold that lasts, of a process that works. v.mu is held.
func (v *View) lastHold() (path string, found hold) {
	for _, name := range slices.Sorted(maps.Keys(v.locks)) {
		for _, h := range v.locks[name].open {
			if v.working(history.HostOf(h.client)) && h.from > found.from {
				path, found = name, h
			}
		}
	}
	return path, found
}

func (v *View) holder() (client, why string) {
	path, h := v.lastHold()
	if h.client == "" {
		return "", ""
	}
	return h.client, h.client + " holds " + path
}

func (v *View) holderServer() (server, why string) {
	path, h := v.lastHold()
	return v.sessions[h.session], h.client + " holds " + path
}

// inQueue returns the clients that wait in a queue and whose process works, by when they came. v.mu is held.
func (v *View) inQueue() []string {
	var names []string
	for name, c := range v.clients {
		if c.place != nil && v.working(history.HostOf(name)) {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(v.clients[a].place.at, v.clients[b].place.at), strings.Compare(a, b))
	})
	return names
}

// headWaiter returns the client that came first of those that wait, which a queue grants next.
func (v *View) headWaiter() (client, why string) {
	if all := v.inQueue(); len(all) > 0 {
		return all[0], all[0] + " is next for " + v.clients[all[0]].place.lock
	}
	return "", ""
}

// lastWaiter returns the client that came last of those that wait, so that it waits the longest from now on.
func (v *View) lastWaiter() (client, why string) {
	if all := v.inQueue(); len(all) > 0 {
		last := all[len(all)-1]
		return last, last + " waits for " + v.clients[last].place.lock
	}
	return "", ""
}
