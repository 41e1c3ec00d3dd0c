// Package benchpeers compares the speed of our mutex with that of its peers,
// go-zookeeper's zk.Lock and Curator's InterProcessMutex.
//
// In flow: how many clients, how long, how often; out flow: a [Comparison], which is a table and
// a JSON file. All of it is one run on one ensemble of three servers in a Docker lab. The
// clients of a peer are one process on a host of that lab, so that its CPU time and memory are
// its own, and the processes take turns: every round has each peer once at each number of
// clients, and begins with another one. Figures are medians of the rounds, of an even number of them the
// lower of the two in the middle.
//
// What the servers were asked comes from their own counters.
package benchpeers
