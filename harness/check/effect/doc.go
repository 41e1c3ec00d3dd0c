// Package effect judges what became of the data that a lock protects: accesses of outdated holds, and updates that were
// lost, torn or counted twice.
//
// In flow: the evidence of a run. Out flow: the verdict of the check of effect, and the harm that each fault did.
package effect
