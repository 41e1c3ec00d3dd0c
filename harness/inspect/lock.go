package inspect

import (
	"context"
	"errors"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"locklab/ensembles/txnlog/nodes"
	"locklab/harness/history"
	"locklab/recipes/zksession"
)

// A Contender is a znode that holds a lock or waits for it.
type Contender struct {
	Path string `json:"path"`
	// Holds says that the lock's rule makes the contender eligible. Whether its client knows that, nobody can read.
	Holds  bool `json:"holds"`
	Shared bool `json:"shared,omitempty"` // a reader of a lock with readers and writers
	// WaitsFor is the path of the contender right before this one; empty for a holder.
	WaitsFor string `json:"waits_for,omitempty"`
	// Maker says which client made the znode, as far as its name shows.
	Maker string `json:"maker,omitempty"`

	// Read says that the fields below were read.
	Read bool `json:"read"`
	// Session that the znode belongs to, in hexadecimal digits; empty if it is persistent.
	Session string `json:"session,omitempty"`
	// Token is the transaction that created the znode, which is the fencing token of most clients.
	Token int64 `json:"token,omitempty"`
	// Created is when the leader created the znode, by its clock.
	Created time.Time `json:"created,omitzero"`
	// Revoked says that somebody has asked the contender to leave, in Curator's way.
	Revoked bool   `json:"revoked,omitempty"`
	Data    string `json:"data,omitempty"`
	// Client is what the servers tell of the session's connection; nil if they do not.
	Client *Client `json:"client,omitempty"`

	owner  int64
	gone   bool
	hidden bool // the credential may not read it
}

// revocation is what Curator's Revoker writes into a znode.
const revocation = "__REVOKE__"

// mostData is how many bytes of a znode's data are kept.
const mostData = 200

func (c *Contender) take(data []byte, stat zksession.Stat) {
	c.Read, c.owner, c.Token = true, stat.Owner, stat.Czxid
	c.Created = time.UnixMilli(stat.Ctime)
	if stat.Owner != 0 {
		c.Session = history.SessionID(stat.Owner).String()
	}
	c.Revoked = string(data) == revocation
	c.Data = string(data[:min(len(data), mostData)])
}

// Name is the last part of the contender's path.
func (c *Contender) Name() string { return path.Base(c.Path) }

// A Lock is what was seen of one lock.
type Lock struct {
	Path string `json:"path"`
	Kind string `json:"kind"`
	Made string `json:"made_by"` // which clients use this layout
	// Contenders are in the order of the queue.
	Contenders []*Contender `json:"contenders"`
	// Queued are those that wait in the inner queue of a semaphore, the first of which takes the next permit.
	Queued []*Contender `json:"queued,omitempty"`
	// Foreign are the names of children that take no part.
	Foreign []string `json:"foreign,omitempty"`
	Verdict Verdict  `json:"verdict"`
	// Because says in a sentence why.
	Because string `json:"because"`
	// Advice says what would free the lock and what that would break; empty where nothing needs to be freed.
	Advice string `json:"advice,omitempty"`

	kind kind
}

// Holders returns the contenders that hold.
func (l *Lock) Holders() []*Contender {
	return slices.DeleteFunc(slices.Clone(l.Contenders), func(c *Contender) bool { return !c.Holds })
}

// Waiters returns the contenders that wait.
func (l *Lock) Waiters() []*Contender {
	waits := slices.DeleteFunc(slices.Clone(l.Contenders), func(c *Contender) bool { return c.Holds })
	return append(waits, l.Queued...)
}

// newLock returns the lock with the children of its directory.
func newLock(dir string, k kind, children []string) *Lock {
	l := &Lock{Path: dir, Kind: k.name, Made: k.made, kind: k}
	if k.layout == "" { // kazoo's leases
		for _, name := range children {
			l.Contenders = append(l.Contenders, &Contender{Path: path.Join(dir, name), Holds: true, Maker: "kazoo"})
		}
		return l
	}
	selector, _ := k.layout.Contends(dir, nil)
	l.Contenders, l.Foreign = l.contending(dir+k.below, selector, children)
	return l
}

func (l *Lock) contending(dir string, s nodes.Selector, children []string) (all []*Contender, foreign []string) {
	for _, name := range children {
		c := &Contender{Path: path.Join(dir, name), Maker: maker(name)}
		place, ok := s.Place(c.Path)
		if !ok {
			foreign = append(foreign, name)
			continue
		}
		c.Shared = l.kind.layout.Modes() && place.Kind == 1
		all = append(all, c)
	}
	slices.Sort(foreign)
	return all, foreign
}

// order puts the contenders into the order of the queue and says who holds.
func (l *Lock) order() {
	gone := func(c *Contender) bool { return c.gone }
	l.Contenders = slices.DeleteFunc(l.Contenders, gone)
	l.Queued = slices.DeleteFunc(l.Queued, gone)
	if l.kind.layout == "" {
		return
	}
	unlimited := func(int64) int { return math.MaxInt }
	selector, rule := l.kind.layout.Contends(l.Path, unlimited)
	l.Contenders = arrange(l.Contenders, selector, rule)
	if selector, ok := l.kind.layout.Queue(l.Path); ok {
		l.Queued = arrange(l.Queued, selector, nodes.First)
		for _, c := range l.Queued {
			c.Holds = false // the first one is to take a permit, and has none yet
		}
	}
}

// arrange returns the contenders in the order of their queue, and sets which are eligible and for whom the others wait.
func arrange(all []*Contender, s nodes.Selector, rule nodes.Rule) []*Contender {
	byPath := map[string]*Contender{}
	live := make([]*nodes.Contender, 0, len(all))
	for _, c := range all {
		place, _ := s.Place(c.Path)
		byPath[c.Path] = c
		live = append(live, &nodes.Contender{Life: &nodes.Life{Path: c.Path, Czxid: c.Token, Owner: c.owner}, Place: place})
	}
	eligible := nodes.Now(live, rule)
	ordered := make([]*Contender, len(live))
	for i, c := range live {
		ordered[i] = byPath[c.Path]
		if ordered[i].Holds = eligible[i]; !eligible[i] && i > 0 {
			ordered[i].WaitsFor = ordered[i-1].Path
		}
	}
	return ordered
}

// lookAt reads a lock whose directory has these children. Whole says that all of its contenders are read, and not only
// the first holder and the first waiter. It returns nil if the directory is no lock.
func (r *reader) lookAt(ctx context.Context, dir string, children []string, whole bool) (*Lock, error) {
	k, ok := classify(dir, children)
	if !ok {
		return nil, nil
	}
	var waiting []string
	if k.below != "" {
		var err error
		if children, err = r.children(ctx, dir+k.below); err == nil {
			waiting, err = r.children(ctx, dir+"/locks")
		}
		if err != nil {
			return nil, err
		}
	}
	l := newLock(dir, k, children)
	if selector, ok := k.layout.Queue(dir); ok {
		l.Queued, _ = l.contending(dir+"/locks", selector, waiting)
	}
	return l, r.complete(ctx, l, whole)
}

// complete reads the znodes of a lock's contenders and decides who holds.
func (r *reader) complete(ctx context.Context, l *Lock, whole bool) error {
	if whole {
		err := r.fill(ctx, slices.Concat(l.Contenders, l.Queued))
		l.order()
		return err
	}
	l.order()
	holders, waiters := l.Holders(), l.Waiters()
	return r.fill(ctx, slices.Concat(holders[:min(1, len(holders))], waiters[:min(1, len(waiters))]))
}

func (r *reader) znode(ctx context.Context, name string) (*Lock, error) {
	c := &Contender{Path: name, Maker: maker(path.Base(name))}
	if err := r.fill(ctx, []*Contender{c}); err != nil || c.gone || c.owner == 0 {
		return nil, err
	}
	c.Holds = true
	return &Lock{Path: name, Kind: single.name, Made: single.made, Contenders: []*Contender{c}, kind: single}, nil
}

// find looks for locks below dir, at most so many levels deep, the highest first. It returns what it has found also
// with an error, and how many znodes are right below the last level.
func (r *reader) find(ctx context.Context, dir string, depth int) (
	locks []*Lock, hidden []string, deeper int, err error,
) {
	level := []string{dir}
	for ; len(level) > 0 && depth >= 0 && err == nil; depth-- {
		found := make([]*Lock, len(level))
		below := make([][]string, len(level))
		errs := make([]error, len(level))
		each(len(level), func(i int) {
			var children []string
			if children, errs[i] = r.children(ctx, level[i]); errs[i] != nil {
				return
			}
			if found[i], errs[i] = r.lookAt(ctx, level[i], children, false); found[i] != nil || errs[i] != nil {
				return
			}
			for _, name := range children {
				below[i] = append(below[i], path.Join(level[i], name))
			}
		})
		next := slices.Concat(below...)
		for i, e := range errs {
			switch {
			case e == nil:
				if found[i] != nil {
					locks = append(locks, found[i])
				}
			case errors.Is(e, zksession.ErrNoAuth):
				hidden = append(hidden, level[i])
			case errors.Is(e, zksession.ErrNoNode):
			case err == nil:
				err = e
			}
		}
		slices.Sort(next)
		level = slices.DeleteFunc(next, func(p string) bool { return p == "/zookeeper" })
	}
	slices.SortFunc(locks, func(a, b *Lock) int { return strings.Compare(a.Path, b.Path) })
	return locks, hidden, len(level), err
}
