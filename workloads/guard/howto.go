package guard

// HowTo says of each kind of data, in a few sentences, how it is made to refuse outdated accesses.
func HowTo() []string {
	return []string{
		"SQL: UPDATE t SET value = :value, token = :token WHERE id = :id AND token <= :token. If no row was changed, the " +
			"access was outdated: stop, and do not retry with the same token.",
		"An object store: write with the condition that the object is still the one that was read under this token " +
			"(If-Match with its ETag), and keep the token in its metadata.",
		"A file or a device that compares nothing: give it a lease that ends before the session can (guard lease-clock). " +
			"It stops most outdated writes, not those of a client that is stopped after it has looked at the clock.",
		"Data that is small: keep it in ZooKeeper, and write it in one transaction with a check of the lock's znode " +
			"(guard zk-multi).",
	}
}

// Manual is where the manual describes the guards, from the root of locklab's repository.
const Manual = "recipes/README.md#guards"
