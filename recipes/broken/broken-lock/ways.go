package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
)

// A way is how a lock is acquired and released.
type way struct {
	// acquire returns when the attempt has the lock, with its token.
	acquire func(context.Context, *attempt) error
	// release removes what an attempt has left, whether or not it has the lock.
	release func(*attempt) error
	// keepUp, if it is set, is called with each hold, and returns when it is over.
	keepUp func(*attempt)
	// directory says that the lock's path is a directory, and not the one znode that all compete for.
	directory bool
	// neverTells says that the end of a session is kept from the client.
	neverTells bool
}

// The bugs of locks that are queues.
const (
	staleList     = 1 << iota // it acts on a list of up to a second ago
	goneIsTurn                // a predecessor that is gone means that it is its turn
	cutOffIsTurn              // so does the end of its connection
	noEphemeral               // its znodes outlive their sessions
	oneInAHundred             // as many attempts do not wait
	neverTells                // it makes its znode again in its next session, and tells nobody of the loss
)

// ways are the locks, by their names.
var ways = map[string]way{
	"sound":               queue(0),
	"stale-list":          queue(staleList),
	"missing-predecessor": queue(goneIsTurn),
	"cut-off-waiter":      queue(cutOffIsTurn),
	"persistent":          queue(noEphemeral),
	"early-grant":         queue(oneInAHundred),
	"recreated":           queue(neverTells),
	"lowest-session":      {acquire: lowestSession, release: leaveWith, directory: true},
	"late-delete":         {acquire: create, release: deleteTwice},
	"wall-lease":          {acquire: lease, release: free, keepUp: renew},
	"data-version":        {acquire: compareVersions, release: free, keepUp: renew},
}

// A listing is a list of a queue's znodes.
type listing struct {
	at    time.Time
	names []string
}

// number returns the sequence number of a contender, which ends its name.
func number(name string) string { return name[max(0, len(name)-10):] }

// queue is a lock that serves the znodes below its path in the order of their numbers, with one bug or none.
func queue(bug int) way {
	w := way{directory: true, neverTells: bug == neverTells, release: leave}
	join := func(a *attempt) error { return join(a, bug != noEphemeral) }
	w.acquire = func(ctx context.Context, a *attempt) error {
		if err := join(a); err != nil {
			return err
		}
		if bug == oneInAHundred && rand.IntN(100) == 0 {
			return nil
		}
		for ctx.Err() == nil {
			cut := a.disconnection()
			before, err := predecessor(a, bug == staleList)
			switch {
			case errors.Is(err, errNotInQueue) && bug == neverTells:
				if err := join(a); err != nil {
					return err
				}
				continue
			case err != nil:
				return err
			case before == "":
				return nil
			}
			there, _, gone, err := a.conn.ExistsW(path.Join(a.path, before))
			switch {
			case err != nil && bug == cutOffIsTurn:
				return nil
			case err != nil:
				there = a.persist(func() error { _, _, err := a.conn.Exists(a.path); return err }) != nil
			case !there && bug == goneIsTurn:
				return nil
			case !there:
				a.listed.names = slices.DeleteFunc(a.listed.names, func(n string) bool { return n == before })
			}
			if !there {
				continue
			}
			if bug != cutOffIsTurn {
				cut = nil
			}
			select {
			case <-gone:
			case <-cut:
				return nil
			case <-ctx.Done():
			}
		}
		return ctx.Err()
	}
	if bug == neverTells {
		w.keepUp = func(a *attempt) {
			for a.holds() {
				there, _, gone, err := a.conn.ExistsW(a.own)
				if err == nil && !there && a.holds() { // it was not released
					_ = join(a)
					continue
				}
				select {
				case <-gone:
				case <-a.ctx.Done():
				case <-time.After(50 * time.Millisecond):
				}
			}
		}
	}
	return w
}

func (a *attempt) holds() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.held && a.ctx.Err() == nil
}

var errNotInQueue = errors.New("its znode is not in the queue")

// join creates the attempt's znode. If the answer is lost, it looks for the znode by its name.
func join(a *attempt, ephemeral bool) error {
	prefix := fmt.Sprintf("%016x-%s-lock-", uint64(a.conn.SessionID()), a.id)
	flags := int32(zk.FlagSequence)
	if ephemeral {
		flags |= zk.FlagEphemeral
	}
	name, err := a.conn.Create(path.Join(a.path, prefix), nil, flags, acl())
	if err != nil {
		err = a.persist(func() error {
			if _, err := a.conn.Sync(a.path); err != nil {
				return err
			}
			names, _, err := a.conn.Children(a.path)
			if i := slices.IndexFunc(names, func(n string) bool { return strings.HasPrefix(n, prefix) }); i >= 0 {
				name = path.Join(a.path, names[i])
			} else if err == nil {
				err = errNotInQueue
			}
			return err
		})
	}
	if err != nil {
		return err
	}
	a.mu.Lock()
	a.own = name
	a.mu.Unlock()
	return a.persist(func() error {
		there, stat, err := a.conn.Exists(name)
		if err == nil && !there {
			err = errNotInQueue
		}
		if err == nil {
			a.token = stat.Czxid
		}
		return err
	})
}

// predecessor returns the name of the contender before the attempt; empty = it is the first.
func predecessor(a *attempt, old bool) (before string, err error) {
	own := path.Base(a.own)
	if !old || time.Since(a.listed.at) > time.Second {
		err := a.persist(func() (err error) {
			a.listed.names, _, err = a.conn.Children(a.path)
			a.listed.at = time.Now()
			return err
		})
		if err != nil {
			return "", err
		}
		if !slices.Contains(a.listed.names, own) {
			return "", errNotInQueue
		}
	}
	for _, name := range a.listed.names {
		if n := number(name); n < number(own) && n > number(before) {
			before = name
		}
	}
	return before, nil
}

// leave removes the attempt's znode.
func leave(a *attempt) error {
	a.mu.Lock()
	own := a.own
	a.mu.Unlock()
	if own == "" {
		return nil
	}
	again := false
	return a.persist(func() error {
		err := a.conn.Delete(own, -1)
		if again && errors.Is(err, zk.ErrNoNode) {
			return nil // the answer to the first request was lost
		}
		again = true
		return err
	})
}

// leaveWith removes the znode that says that the attempt has the lock, and then its place in the queue.
func leaveWith(a *attempt) error {
	if err := a.persist(func() error {
		data, stat, err := a.conn.Get(path.Join(a.path, holderName))
		if err != nil || string(data) != a.own {
			return err
		}
		return a.conn.Delete(path.Join(a.path, holderName), stat.Version)
	}); err != nil && !errors.Is(err, zk.ErrNoNode) {
		return err
	}
	return leave(a)
}

const holderName = "holder"

// lowestSession serves the contender with the lowest session first. It has the lock with the znode that says so.
func lowestSession(ctx context.Context, a *attempt) error {
	if err := join(a, true); err != nil {
		return err
	}
	own := path.Base(a.own)
	for ctx.Err() == nil {
		var names []string
		var changed <-chan zk.Event
		err := a.persist(func() (err error) {
			names, _, changed, err = a.conn.ChildrenW(a.path)
			return err
		})
		switch {
		case err != nil:
			return err
		case !slices.Contains(names, own):
			return errNotInQueue
		}
		slices.Sort(names) // they begin with the session
		if names[0] == own {
			holder := path.Join(a.path, holderName)
			_, err := a.conn.Create(holder, []byte(a.own), zk.FlagEphemeral, acl())
			data, stat, getErr := a.conn.Get(holder)
			if getErr == nil && string(data) == a.own { // whether or not the create was answered
				a.token = stat.Czxid
				return nil
			}
			if err != nil && !errors.Is(err, zk.ErrNodeExists) {
				continue
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}

// create acquires a lock that is one znode: whoever creates it has it.
func create(ctx context.Context, a *attempt) error {
	for ctx.Err() == nil {
		_, err := a.conn.Create(a.path, []byte(a.id), zk.FlagEphemeral, acl())
		there, stat, gone, seeErr := a.conn.ExistsW(a.path)
		switch {
		case seeErr == nil && there && stat.EphemeralOwner == a.conn.SessionID():
			a.token = stat.Czxid
			return nil
		case seeErr != nil, !there:
			if err := a.persist(func() error { _, _, err := a.conn.Exists(a.path); return err }); err != nil {
				return err
			}
		case err != nil:
			select {
			case <-gone:
			case <-ctx.Done():
			}
		}
	}
	return ctx.Err()
}

// late is when a lock is deleted once more.
const late = 10 * time.Millisecond

// deleteTwice deletes the lock's znode, and to be on the safe side once more, when it may be another's.
func deleteTwice(a *attempt) error {
	if a.token == 0 {
		return nil
	}
	remove := func() error { return a.conn.Delete(a.path, -1) }
	time.AfterFunc(late, func() { _ = remove() })
	return a.persist(remove)
}

// leaseShare is how long a lease is, as a share of the session timeout.
const leaseShare = 0.75

// lease acquires a lock whose one znode says until when it is taken, by its holder's clock. Who finds by its own clock
// that the time is over takes the lock, whether or not the holder's session is.
func lease(ctx context.Context, a *attempt) error {
	return take(ctx, a, func(data []byte, _ *zk.Stat) bool {
		until, err := strconv.ParseInt(string(data), 10, 64)
		return err == nil && until < time.Now().UnixMilli()
	})
}

// compareVersions acquires a lock whose holder writes to its one znode again and again. Who sees the same version for
// half a session timeout takes the lock. Sessions are of no importance.
func compareVersions(ctx context.Context, a *attempt) error {
	var version int32
	var mzxid int64
	var since time.Time
	return take(ctx, a, func(_ []byte, stat *zk.Stat) bool {
		if stat.Mzxid != mzxid || stat.Version != version {
			version, mzxid, since = stat.Version, stat.Mzxid, time.Now()
		}
		return time.Since(since) > a.timeout/2
	})
}

// freed is the data of a lock that nobody has.
var freed = []byte("free")

// until returns the end of a lease that begins now.
func (a *attempt) until() []byte {
	length := time.Duration(leaseShare * float64(a.timeout))
	return strconv.AppendInt(nil, time.Now().Add(length).UnixMilli(), 10)
}

// take writes to the lock's one znode once nobody has it, or once the holder may be passed over.
func take(ctx context.Context, a *attempt, ignore func([]byte, *zk.Stat) bool) error {
	for ctx.Err() == nil {
		data, stat, changed, err := a.conn.GetW(a.path)
		switch {
		case errors.Is(err, zk.ErrNoNode):
			if _, err := a.conn.Create(a.path, freed, 0, acl()); err != nil && !errors.Is(err, zk.ErrNodeExists) {
				return err
			}
			continue
		case err == nil && (bytes.Equal(data, freed) || ignore(data, stat)):
			now, err := a.conn.Set(a.path, a.until(), stat.Version)
			if err == nil {
				a.version, a.token = now.Version, now.Mzxid
				return nil
			}
			if !errors.Is(err, zk.ErrBadVersion) {
				return err
			}
			continue
		}
		select {
		case <-changed:
		case <-ctx.Done():
		case <-time.After(a.timeout / 20):
		}
	}
	return ctx.Err()
}

// renew writes to the lock's one znode until the hold is over, and tells when it finds that it is.
func renew(a *attempt) {
	for a.holds() {
		a.mu.Lock()
		stat, err := a.conn.Set(a.path, a.until(), a.version)
		if err == nil {
			a.version = stat.Version
		}
		a.mu.Unlock()
		if errors.Is(err, zk.ErrBadVersion) && a.over() {
			a.answer("lost", err)
		}
		select {
		case <-a.ctx.Done():
		case <-time.After(a.timeout / 10):
		}
	}
}

// free gives a lock of one znode back.
func free(a *attempt) error {
	if a.token == 0 {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	_, err := a.conn.Set(a.path, freed, a.version)
	return err
}
