package scenario

// The kinds of faults that do harm to znodes, all of the run's first lock.
const (
	FaultDeleteNode      = "delete-node"      // a contender's own znode, by an administrator
	FaultDeleteParent    = "delete-parent"    // the lock's directory, at an idle moment
	FaultForeignChildren = "foreign-children" // znodes in the lock's directory that are no contender's
)

func znodeFaults() []FaultKind {
	return []FaultKind{
		{Name: FaultDeleteNode, Family: FamilyZnode, Targets: OnClient, Momentary: true,
			Does:     "a client's own znode of the first lock, deleted by an administrator the next time that it has one",
			Verified: "it is gone"},
		{Name: FaultDeleteParent, Family: FamilyZnode, Targets: OnAll, Momentary: true, NotDrawn: true,
			Does:     "the first lock's directory, deleted at a moment at which nobody contends, as servers do with idle containers: sequence numbers begin at 0 again",
			Verified: "it is gone, or another one is in its place"},
		{Name: FaultForeignChildren, Family: FamilyZnode, Targets: OnAll,
			Does:     "znodes in the first lock's directory that are nobody's place in its queue, deleted to heal",
			Verified: "all of them are there; after healing none is"},
	}
}
