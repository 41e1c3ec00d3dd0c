package broken

// Locks that leave a znode behind when the reply to its create is lost. It belongs to a session that lives, so it is
// never removed, and every other client waits behind it.

// lostCreate creates again when it has no answer.
func lostCreate(cfg Config) Ways {
	q := newQueue(cfg, cfg.Path, locking)
	q.settle = func(*attempt) (string, error) { return "", nil }
	return Ways{Write: q}
}

// unsyncedSearch looks for its znode first, but on a server that may lag behind.
func unsyncedSearch(cfg Config) Ways {
	q := newQueue(cfg, cfg.Path, locking)
	q.settle = func(a *attempt) (string, error) { return a.search(false) }
	return Ways{Write: q}
}
