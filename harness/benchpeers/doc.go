// Command benchpeers compares the speed of recipes.Mutex, recipes.RW and recipes.Semaphore with that of their peers:
// Curator's recipes, and for the mutex go-zookeeper's zk.Lock.
//
// In flow: which lock, how many clients, how long, how often. Out flow: a [Comparison], which is written as a table and
// as a JSON file. It is no part of locklab: `make bench-peers` runs it.
//
// One lab with an ensemble of three servers serves all measurements. The clients of a peer share one process on a host
// of the lab, so that its CPU time and memory are those of the peer. The processes take turns: each round measures
// every peer once at each number of clients, and each round begins with another peer. Figures are medians over the
// rounds; of an even number of rounds, the lower of the two in the middle. Requests and watches come from the servers'
// own counters.
//
// A sweep over recipe= measures the same locks as a client process of a run uses them: each event is recorded, and
// Curator's locks are driven over a pipe by a Go process. Both cost time, and not the same time for every peer. Here a
// process does nothing but acquire and release ([Process]; Curator's is Loop.java), and writes a record when it is
// done, from which all figures are computed in one place.
//
// `benchpeers load` (`make bench-load`) compares something else: the load that locklab makes with a [Thin] one, which
// does nothing but acquire and release, on the same servers, in turn. In flow: the shape of the load, closed or at a
// rate. Out flow: a [LoadComparison], whose ratios say how much of what locklab measures is locklab.
//
// `benchpeers figures` (`make figures`) measures the tables of the manuals: rounds of peers, and sweeps of locklab,
// which it appends to the records of package figures.
package main
