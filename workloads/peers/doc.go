// Package peers is the client process of the comparison of speed: clients that acquire
// and release one lock in a closed loop, holding it for nothing and thinking of
// nothing, each with a session of its own.
//
// In flow: which lock, how many clients, the servers; the words "begin" and "end" on standard input, at both ends of
// the time that counts. Out flow: a file "ready" once every client is connected and has held the lock twice (the first
// rounds, when all come at once, are another thing), and a file "record" after the end, which [ReadRecord] reads.
// Curator's loop, in package curator, does the same in Java and writes the same record, so that all figures are
// computed in one place from the same times: [Record.Figures].
package peers
