// Package guard is the one table of guards: how the data that a lock protects is kept from a client that has lost the
// lock and may not know it yet.
//
// In flow: a guard's name and what a run is like. Out flow: what the guard costs and lets through, why it cannot be
// used there, and what a client asks it before each access.
package guard
