package check

// serviceExclusion will say whether the service itself ever had two holders. Only
// the servers' transaction logs know, and nothing reads them yet; the clients'
// own account is no substitute, because a client can be told late.
func serviceExclusion(*digest, *Safety) Verdict {
	return Verdict{Result: NotApplicable, Summary: "needs the servers' transaction logs, which were not read"}
}
