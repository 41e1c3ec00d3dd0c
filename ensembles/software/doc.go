// Package software finds Java and ZooKeeper among the files of a machine or of an image.
//
// In flow: a root file system, and where the environment says that they are. Out flow: the path of Java and the jars of
// ZooKeeper's class path.
package software
