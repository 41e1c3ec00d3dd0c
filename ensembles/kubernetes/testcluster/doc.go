// Command testcluster runs a command beside a real Kubernetes cluster, which it starts before and removes after it.
//
//	testcluster [-nodes 2] [-skew 100000s] [-archive zookeeper.tar] [-binary NAME:TAG=FILE] -- command [argument...]
//
// The command finds the cluster through KUBECONFIG, at a port of 127.0.0.1. Root's rights are needed, and containerd,
// runc, the CNI plugins bridge and host-local, iproute2, nftables and util-linux, with control groups of version 1.
//
// Everything runs on this machine, in namespaces of its own, and nothing leaves them. They are nested: a process that
// is the first one of its process table holds a bridge, and below it each node has a network, mounts, a process table
// and a name, and with -skew a monotonic clock, as on another machine. When the first process dies, however that comes,
// the kernel ends the cluster with it. What a killed testcluster leaves are a directory and empty control groups, which
// the next one removes.
//
// The parts of Kubernetes are linked into this program, each as the project publishes it, so that no registry and no
// image of them is needed; so is kubectl, as testcluster kubectl. They need 0.7 GB of modules and take long to compile,
// which is why they are a module of their own. Images of nodes are the archives that are given, and one for every
// -binary, which consists of that file.
package main
