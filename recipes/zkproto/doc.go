// Package zkproto is ZooKeeper's wire format: frames, the records within them (jute), the connect request and its
// answer, and the codes of requests and errors. Clients of this repository, its service in memory, and what tests put
// between them share it; the readers of transaction logs have their own.
//
// In flow: values, or bytes from anywhere. Out flow: the other of the two. Nothing here knows what requests mean.
package zkproto
