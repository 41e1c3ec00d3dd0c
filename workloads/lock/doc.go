// Package lock is the one table of recipes: what each promises, the znodes by which its clients see each other, the
// workloads that it serves, its known bug if it is a control, and how a client opens it.
//
// In flow: the name of a recipe and the description of a client. Out flow: what the recipe promises, for planning or
// judging a run, and a [Source] of [Grant]s, for the client that contends.
//
// A new recipe is one file, which makes its [Recipe], and one line in the table (table.go). The controls are derived
// from the table of package broken. Three kinds of source serve all recipes: sessions of package recipes (session.go),
// plain clients (control.go), and commands behind the lock protocol (foreign.go).
package lock
