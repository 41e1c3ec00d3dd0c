package scenario

import "slices"

// zkLock checks what a lock cannot have whose clients have a connection for it alone.
func (v *validator) zkLock() {
	all := v.Recipes()
	i := slices.IndexFunc(all, func(r Recipe) bool { return r.OneLock })
	if i < 0 {
		return
	}
	if v.Locks > 1 {
		v.refuse(by("locks", "recipe"), "locks: 1", "%d locks, but a client of recipe %s has one, on a connection of its own", v.Locks, all[i].Name)
	}
}
