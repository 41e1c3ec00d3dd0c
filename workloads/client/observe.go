package client

import (
	"context"
	"errors"
	"path"
	"regexp"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/harness/history"
)

// The ways in which an observer sees who holds a lock.
const (
	SeenQueue  = ""       // the first in the directory at the lock's path
	SeenNode   = "node"   // the znode at the lock's path
	SeenLeases = "leases" // the first in the directory of leases below it
)

// observe watches who is at the head of each lock's queue, until told to stop. It
// is one more client's view of the servers, with a watch's delay: good for a
// picture, not for a verdict.
func (p *process) observe(ctx context.Context) error {
	conn, _, err := zk.Connect(p.cfg.serversFor(p.cfg.First), p.cfg.SessionTimeout, zk.WithLogger(quiet{}), zk.WithLogInfo(false))
	if err != nil {
		return err
	}
	if err := p.rec.Record(history.Event{Op: history.OpReady}); err != nil {
		conn.Close()
		return err
	}
	outer := ctx
	ctx, cancel := context.WithCancel(outer)
	defer cancel()
	var wg sync.WaitGroup
	for _, lock := range p.cfg.Locks {
		wg.Go(func() { p.observeLock(ctx, conn, lock) })
	}
	select {
	case <-p.stopped:
	case <-ctx.Done():
	}
	cancel()
	conn.Close() // ends the calls in flight
	wg.Wait()
	if err := p.rec.Record(history.Event{Op: history.OpDone}); err != nil {
		return err
	}
	<-outer.Done()
	return nil
}

// head is who is first in a lock's queue; zero = nobody.
type head struct {
	session, czxid int64
}

func (p *process) observeLock(ctx context.Context, conn *zk.Conn, lock string) {
	look, at := headOfQueue, lock
	switch p.cfg.Seen {
	case SeenNode:
		look = headNode
	case SeenLeases:
		at = path.Join(lock, "leases")
	}
	var last head
	for ctx.Err() == nil {
		now, changed, err := look(conn, at)
		if err != nil {
			// Cut off, or the head went while it was looked at.
			sleep(ctx, 10*time.Millisecond)
			continue
		}
		if now != last {
			last = now
			if err := p.rec.Record(history.Event{Op: history.OpHeld, Lock: lock, Session: history.SessionID(now.session), Token: now.czxid}); err != nil {
				panic(err)
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

// headNode finds the holder of a lock whose path is the holder's znode.
func headNode(conn *zk.Conn, lock string) (head, <-chan zk.Event, error) {
	exists, stat, changed, err := conn.ExistsW(lock)
	if err != nil || !exists {
		return head{}, changed, err
	}
	return head{stat.EphemeralOwner, stat.Czxid}, changed, nil
}

// sequence is the tail of a contender's name.
var sequence = regexp.MustCompile(`[0-9]{10}$`)

// headOfQueue finds the holder of a lock whose path is a directory of contenders.
func headOfQueue(conn *zk.Conn, lock string) (head, <-chan zk.Event, error) {
	children, _, changed, err := conn.ChildrenW(lock)
	if errors.Is(err, zk.ErrNoNode) {
		_, _, changed, err = conn.ExistsW(lock)
		return head{}, changed, err
	}
	if err != nil {
		return head{}, nil, err
	}
	first, lowest := "", ""
	for _, c := range children {
		if s := sequence.FindString(c); s != "" && (lowest == "" || s < lowest) {
			first, lowest = c, s
		}
	}
	if first == "" {
		return head{}, changed, nil
	}
	_, stat, err := conn.Exists(path.Join(lock, first))
	if err != nil {
		return head{}, nil, err
	}
	if stat.EphemeralOwner == 0 {
		return head{}, changed, nil // it went meanwhile: changed will fire
	}
	return head{stat.EphemeralOwner, stat.Czxid}, changed, nil
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}
