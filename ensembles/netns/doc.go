// Package netns makes labs without containers: each host is a process in namespaces of its own, on a network that no
// other process of the machine can reach.
//
// In flow: the hosts of a lab. Out flow: an [ensembles.Place] whose hosts run the Java, the ZooKeeper and the tools of
// this machine.
//
// Three processes of the locklab binary make a lab:
//
//   - The harness starts one lab process ([RunLab]). That process is the first one of a process namespace, and it is in
//     a network namespace that has nothing but the lab's bridge. Without root's rights it is in a user namespace too.
//   - The lab process starts a host process ([RunHost]) for each host, in more namespaces, and puts one end of a link
//     to the bridge into the host's network namespace.
//   - The host process makes a root of its own, whose files are those of this machine and cannot be changed. It gives
//     up all capabilities but NET_ADMIN and becomes the host's agent.
//
// The lab process lives as long as the pipe from the harness is open. When it ends, the kernel kills all processes of
// its namespace, and the networks and the mounts go with them. So nothing survives the harness, whatever ends it.
//
// Nothing leads from the lab's network to that of the machine. The agent of a host is reached through a socket that the
// harness opened on 127.0.0.1 before the agent inherited it: a socket stays in the namespace in which it was made.
package netns
