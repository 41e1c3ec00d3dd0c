package chaos

// list has every kind of fault, family by family.
//
// To add a kind, write a file with a function that returns it, and add a line here. Help, schema, manual, validation,
// random schedules, explanations and the conformance test all read this list; a test does exactly that in a copy of the
// sources. (The list is made by a function, since the functions of a kind may look at the list.)
func list() []Kind {
	return []Kind{
		pauseKind(),
		killKind(),
		stopKind(),
		restartKind(),
		crashLoopKind(),
		rollingRestartKind(),
		upgradeKind(),
		partitionKind(),
		lossKind(),
		bandwidthKind(),
		latencyKind(),
		resetKind(),
		expireSessionKind(),
		moveClientKind(),
		muteKind(),
		deleteNodeKind(),
		deleteParentKind(),
		foreignChildrenKind(),
		slowDiskKind(),
		clockStepKind(),
	}
}
