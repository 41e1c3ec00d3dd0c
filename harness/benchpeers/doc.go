// Package benchpeers compares the speed of our mutex with that of its peers, go-zookeeper's zk.Lock and Curator's
// InterProcessMutex.
//
// In flow: how many clients, how long, how often. Out flow: a [Comparison], which is written as a table and as a JSON
// file.
//
// One run on one ensemble of three servers in a Docker lab measures all peers. The clients of a peer share one process
// on a host of that lab, so that their CPU time and memory can be told apart, and the processes take turns: every round
// measures each peer once at each number of clients, and each round begins with another peer. Figures are medians of
// the rounds; of an even number of rounds, the lower of the two in the middle. Requests and watches come from the
// servers' own counters.
package benchpeers
