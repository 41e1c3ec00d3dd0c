// Package resource is the service that the locks of a run protect. It keeps a counter or a list for each lock, applies
// guards, and is the independent witness of damage.
//
// In flow: enter, read, write and exit from clients, each with the token of the hold that it belongs to. Out flow: the
// answers, and a record in the resource's own history. The order of that record is the order in which accesses took
// effect.
package resource
