// Package workloads says which clients want which lock, when and for how long.
//
// A [Pacer] and the [Arrivals] drawn from it say when work arrives, a [Distribution] says how long it takes, and a
// [Choice] says which lock it wants. All are functions of time and a seed alone. The package also holds the built-in
// scenarios.
//
// In flow: the settings of a load, as text or JSON. Out flow: times, lengths and choices for package client, whose
// clients contend for locks and use the data that package resource keeps.
package workloads
