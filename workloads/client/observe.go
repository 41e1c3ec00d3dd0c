package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/ensembles/remote"
	"locklab/ensembles/txnlog/nodes"
	"locklab/harness/history"
	"locklab/recipes/zksession"
	"locklab/workloads/lock"
)

// observe watches which session is at the head of each lock's queue, until it is stopped. Its view is that of one
// more client, with a watch's delay: good for a picture, not for a verdict.
func (p *process) observe(ctx context.Context) error {
	plain, err := zksession.ConnectPlain(ctx, zksession.PlainConfig{Config: zksession.Config{
		Servers: p.cfg.serversFor(p.cfg.First), Timeout: p.cfg.SessionTimeout, Dial: p.cfg.dial,
		Credentials: remote.Credentials(p.cfg.Credential), Logger: slog.New(slog.DiscardHandler)}})
	if err != nil {
		return err
	}
	conn := plain.Conn
	if err := p.rec.Record(history.Ready(0)); err != nil {
		return errors.Join(err, plain.Close(ctx))
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
	_ = plain.Close(ctx) // ends the calls in flight; an error says that a server cannot be told
	wg.Wait()
	if err := p.rec.Record(history.Done()); err != nil {
		return err
	}
	<-outer.Done()
	return nil
}

// head is the first in a lock's queue; zero = the queue is empty.
type head struct {
	session, czxid int64
}

func (p *process) observeLock(ctx context.Context, conn *zk.Conn, at string) {
	look, node := headOfQueue, at
	switch p.cfg.Seen {
	case lock.SeenNode:
		look = headNode
	case lock.SeenLeases:
		node = path.Join(at, "leases")
	}
	queue := contenders(at, p.cfg.Layout)
	var last head
	for ctx.Err() == nil {
		now, changed, err := look(conn, node, queue)
		if err != nil {
			// The observer is cut off, or the head left while it was read.
			sleep(ctx, 10*time.Millisecond)
			continue
		}
		if now != last {
			last = now
			if err := p.rec.Record(history.QueueHead(at, history.SessionID(now.session), now.czxid)); err != nil {
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
func headNode(conn *zk.Conn, lock string, _ nodes.Selector) (head, <-chan zk.Event, error) {
	exists, stat, changed, err := conn.ExistsW(lock)
	if err != nil || !exists {
		return head{}, changed, err
	}
	return head{stat.EphemeralOwner, stat.Czxid}, changed, nil
}

// contenders selects what contends for a lock. Where the layout is not known, that is every child with a number.
func contenders(lock string, layout nodes.Layout) nodes.Selector {
	queue, _ := cmp.Or(layout, "#").Contends(lock, func(int64) int { return 1 })
	return queue
}

// headOfQueue finds the holder of a lock whose contenders are in a directory.
func headOfQueue(conn *zk.Conn, dir string, queue nodes.Selector) (head, <-chan zk.Event, error) {
	children, _, changed, err := conn.ChildrenW(dir)
	if errors.Is(err, zk.ErrNoNode) {
		_, _, changed, err = conn.ExistsW(dir)
		return head{}, changed, err
	}
	if err != nil {
		return head{}, nil, err
	}
	first := firstOf(children, dir, queue)
	if first == "" {
		return head{}, changed, nil
	}
	_, stat, err := conn.Exists(first)
	if err != nil {
		return head{}, nil, err
	}
	if stat.EphemeralOwner == 0 {
		return head{}, changed, nil // the head has left: changed will fire
	}
	return head{stat.EphemeralOwner, stat.Czxid}, changed, nil
}

// firstOf returns the path of the first of the queue; empty if nothing contends, or no number says which is first.
func firstOf(children []string, dir string, queue nodes.Selector) string {
	var live []*nodes.Contender
	for _, name := range children {
		at := path.Join(dir, name)
		if place, contends := queue.Place(at); contends {
			live = append(live, &nodes.Contender{Life: &nodes.Life{Path: at}, Place: place})
		}
	}
	if eligible := nodes.Now(live, nodes.First); len(live) > 0 && eligible[0] {
		return live[0].Path
	}
	return ""
}

// recordLayout records the layout of znodes that the lock's command has declared in its greeting, if it has.
func (p *process) recordLayout() error {
	if p.foreign == nil || p.foreign.Layout() == "" {
		return nil
	}
	declared := p.foreign.Layout()
	if err := fitsLayout(declared, p.cfg); err != nil {
		return err
	}
	return p.rec.Record(history.LayoutDeclared(string(declared)))
}

// fitsLayout returns an error if the layout that a command has declared is not what the scenario says.
func fitsLayout(declared nodes.Layout, cfg config) error {
	switch {
	case declared == "":
	case cfg.Layout != "" && cfg.Layout != declared:
		return fmt.Errorf("the lock's command greets with layout %s, but the scenario says layout %s; leave one of them out",
			declared, cfg.Layout)
	case !lock.Fits(declared, cfg.Workload):
		return fmt.Errorf("the lock's command greets with layout %s, but workload %s has permits; declare layout semaphore, "+
			"or none", declared, cfg.Workload)
	}
	return nil
}
