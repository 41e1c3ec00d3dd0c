package check

func beliefExclusion(*digest, *Safety) Verdict {
	return Verdict{Result: Unknown, Summary: "not judged yet"}
}
func effect(*digest, *Safety) Verdict   { return Verdict{Result: Unknown, Summary: "not judged yet"} }
func tokens(*digest, *Safety) Verdict   { return Verdict{Result: Unknown, Summary: "not judged yet"} }
func fairness(*digest, *Safety) Verdict { return Verdict{Result: Unknown, Summary: "not judged yet"} }
func liveness(*digest, *Safety) Verdict { return Verdict{Result: Unknown, Summary: "not judged yet"} }
func assumptions(*digest, *Safety) Verdict {
	return Verdict{Result: Unknown, Summary: "not judged yet"}
}
func shown(*digest, *Safety) Verdict { return Verdict{Result: Unknown, Summary: "not judged yet"} }
