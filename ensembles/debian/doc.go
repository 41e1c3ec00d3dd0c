// Package debian gets versions of ZooKeeper from Debian's packages: as the root file system of a container image, or as
// the jars alone, for servers that run on this machine. It needs mmdebstrap.
//
// In flow: the number of a version. Out flow: a tar, or a directory in the user's cache.
package debian
