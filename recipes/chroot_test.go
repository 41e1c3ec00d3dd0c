package recipes

import (
	"context"
	"slices"
	"strings"
	"testing"

	"locklab/recipes/zksession"
)

// Every lock works below a chroot, which it creates, and leaves nothing beside it.
func TestLocksBelowAChroot(t *testing.T) {
	for recipe := range makers {
		svc := newFakeService()
		_, z := svc.session(t, nil)
		app, err := zksession.Chroot(z, "/apps/mine")
		if err != nil {
			t.Fatal(err)
		}
		s := NewSession(app, nil)
		h := acquired(t, newLock(t, recipe, s, nil))
		for _, node := range svc.ephemerals() {
			if !strings.HasPrefix(node, "/apps/mine/locks/") {
				t.Errorf("%s: %s is not below the chroot", recipe, node)
			}
		}
		if !slices.Contains(svc.ephemerals(), "/apps/mine"+h.Path()) {
			t.Errorf("%s: the hold is at %s; there are %v", recipe, h.Path(), svc.ephemerals())
		}
		released(t, h)
		if left := svc.ephemerals(); len(left) != 0 {
			t.Errorf("%s: left behind: %v", recipe, left)
		}
	}
}

// On a real ensemble, the znode of a hold is where Path says, below the chroot, while the work is done.
func TestDoBelowAChroot(t *testing.T) {
	root := lockPath(t)
	outside := connected(t, SessionConfig{})
	s := connected(t, SessionConfig{Config: zksession.Config{Chroot: root}})
	for _, recipe := range recipeNames {
		lock := realLock(t, recipe, s, "/locks/"+recipe, nil)
		if err := Do(within(t), lock, func(ctx context.Context, h *Hold) error {
			if err := outside.zk.Sync(ctx, root); err != nil {
				return err
			}
			_, stat, err := outside.zk.Get(ctx, root+h.Path())
			if err == nil && (stat.Owner != s.ID() || stat.Czxid != h.Token()) {
				t.Errorf("%s: %s is of session %x and transaction %x", recipe, h.Path(), stat.Owner, stat.Czxid)
			}
			return err
		}); err != nil {
			t.Errorf("%s: %v", recipe, err)
		}
		empty(t, outside, root+"/locks/"+recipe)
	}
}
