package recipes

import (
	"context"
	"errors"
	"log/slog"
	"path"
	"slices"
	"strings"
	"time"

	"locklab/recipes/internal/tasks"
	"locklab/recipes/zksession"
)

// A janitor removes a session's znodes and does not give up: it tries until the service says that the znode is gone or
// may not be deleted, or the session is over and the service removes it itself. It works for as long as the session
// lives, never under the context of the caller that left something behind, which has typically just ended.
//
// Each job has its own goroutine, so that one that cannot be done does not hold up the others. Jobs are few: one for
// each attempt that ended and is not confirmed.
type janitor struct {
	zk    zksession.ZooKeeper
	tasks *tasks.Set
	log   *slog.Logger
	timers
}

// The pause before something is tried again grows from retryMin to retryMax, and further to hugeMax where a directory
// is too large to be listed: each try costs the service the whole list, and such a queue does not become short within
// a second.
const (
	retryMin = 10 * time.Millisecond
	retryMax = time.Second
	hugeMax  = 15 * time.Second
)

// run repeats job until it returns anything but a failure that may pass. Its
// result, nil, ErrNoNode, ErrNoAuth or the session's end, is sent to the
// channel, which has room for it.
func (j *janitor) run(what string, job func() error) <-chan error {
	result := make(chan error, 1)
	started := j.tasks.Start(func() {
		backoff := retryMin
		for {
			err := job()
			if err == nil || errors.Is(err, zksession.ErrNoNode) {
				result <- err
				return
			}
			if over := j.zk.Err(); over != nil {
				result <- over
				return
			}
			if errors.Is(err, zksession.ErrNoAuth) {
				// The credentials come before every request, so it would be refused again.
				j.log.Warn("janitor: "+what+" was refused; what is left stays until the session ends", "error", err)
				result <- err
				return
			}
			limit := retryMax
			if errors.Is(err, zksession.ErrTooLarge) {
				limit, backoff = hugeMax, max(backoff, retryMax)
			}
			j.log.Debug("janitor: "+what, "error", err, "again_in", backoff)
			select {
			case <-j.timers.after(backoff):
			case <-j.zk.Done():
			}
			backoff = min(2*backoff, limit)
		}
	})
	if !started {
		result <- j.zk.Err()
	}
	return result
}

// remove deletes a znode whose name no other attempt can ever have. The result is ErrNoNode only if the very first
// answer was that: then somebody else had deleted it. After an unanswered request it was most likely this session that
// deleted it, and the result is nil.
func (j *janitor) remove(node string) <-chan error { return j.delete(node, false) }

// removeAgain is remove after a request to delete the znode that may have been executed.
func (j *janitor) removeAgain(node string) <-chan error { return j.delete(node, true) }

func (j *janitor) delete(node string, unanswered bool) <-chan error {
	return j.run("delete "+node, func() error {
		// Without an end but the session's: a request left behind is one more thing to clean up.
		err := j.zk.Delete(context.Background(), node)
		if errors.Is(err, zksession.ErrNoNode) && unanswered {
			return nil
		}
		unanswered = unanswered || errors.Is(err, zksession.ErrConnectionLoss)
		return err
	})
}

// sweep deletes every znode in dir whose name begins with prefix, which must be
// unique to one attempt, whose create request has been answered or lost for good.
// For why nothing can turn up after a search that found nothing, see [creator.find].
func (j *janitor) sweep(dir, prefix string) <-chan error {
	return j.run("sweep "+dir+" for "+prefix, func() error {
		ctx := context.Background()
		if err := j.zk.Sync(ctx, path.Join(dir, prefix)); err != nil { // any path does, and this one says whose it is
			return err
		}
		children, err := j.zk.Children(ctx, dir)
		if err != nil {
			return err
		}
		for _, name := range children {
			if !strings.HasPrefix(name, prefix) {
				continue
			}
			if err := j.zk.Delete(ctx, path.Join(dir, name)); err != nil && !errors.Is(err, zksession.ErrNoNode) {
				return err
			}
		}
		return nil
	})
}

// removeAll deletes znodes whose names no other attempt can ever have. It first deletes all of them in one
// transaction. If that is refused or not answered, it deletes them one by one, last to first. The result is as in
// [janitor.remove], and ErrNoNode if any of the znodes was already gone.
func (j *janitor) removeAll(nodes []string) <-chan error {
	if len(nodes) == 1 {
		return j.remove(nodes[0])
	}
	left := slices.Clone(nodes)
	slices.Reverse(left)
	tried, unanswered, gone := false, false, false
	return j.run("delete "+nodes[0]+" and others", func() error {
		ctx := context.Background() // ends with the session
		if !tried {
			tried = true
			ops := make([]zksession.Op, len(left))
			for i, node := range left {
				ops[i] = zksession.Op{Kind: zksession.OpDelete, Path: node, Version: zksession.AnyVersion}
			}
			_, err := j.zk.Multi(ctx, ops...)
			if !errors.Is(err, zksession.ErrNoNode) {
				unanswered = errors.Is(err, zksession.ErrConnectionLoss)
				return err
			}
		}
		for len(left) > 0 {
			err := j.zk.Delete(ctx, left[0])
			switch {
			case errors.Is(err, zksession.ErrNoNode):
				gone = gone || !unanswered
			case err != nil:
				unanswered = unanswered || errors.Is(err, zksession.ErrConnectionLoss)
				return err
			}
			left = left[1:]
		}
		if gone {
			return zksession.ErrNoNode
		}
		return nil
	})
}
