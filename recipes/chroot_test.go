package recipes

import (
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
