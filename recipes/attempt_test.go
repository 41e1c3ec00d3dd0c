package recipes

import (
	"path"
	"slices"
	"strings"
	"testing"
)

// Every znode that an acquire makes has a name that OnAttempt was told beforehand: a new name for each attempt, in
// the directory that it was told. Nothing else is reported.
func TestOnAttempt(t *testing.T) {
	nameless := []string{"naive"}
	for recipe := range makers {
		svc := newFakeService()
		s, _ := svc.session(t, nil)
		l := newLock(t, recipe, s, nil)
		seen := map[string]bool{}
		for range 3 {
			var told []string
			ctx := OnAttempt(within(t), func(dir, prefix string) {
				if left := svc.ephemerals(); len(left) > 0 {
					t.Errorf("%s: told %s when %v was there", recipe, prefix, left)
				}
				told = append(told, path.Join(dir, prefix))
			})
			h, err := l.Acquire(ctx)
			if err != nil {
				t.Fatalf("%s: %v", recipe, err)
			}
			if slices.Contains(nameless, recipe) != (len(told) == 0) {
				t.Errorf("%s: told %v", recipe, told)
			}
			made := svc.ephemerals()
			for _, node := range made {
				if len(told) > 0 &&
					!slices.ContainsFunc(told, func(prefix string) bool { return strings.HasPrefix(node, prefix) }) {
					t.Errorf("%s: made %s, told %v", recipe, node, told)
				}
			}
			if len(made) == 0 {
				t.Errorf("%s: holds without a znode", recipe)
			}
			for _, prefix := range told {
				if seen[prefix] {
					t.Errorf("%s: told %s twice", recipe, prefix)
				}
				seen[prefix] = true
			}
			if err := h.Release(within(t)); err != nil {
				t.Error(err)
			}
		}
	}
}
