// Package kubernetes makes labs of pods in a cluster that is already there.
//
// In flow: the hosts of a lab, and a cluster as kubectl finds it. Out flow: a pod for each host, whose agent is reached
// through the API server.
//
// Each host is a Job that starts one pod and never another. Nothing of a lab needs a controller of locklab's, and
// nothing of it stays, because each object goes with another that stock controllers remove:
//
//   - The agent ends when its lease lapses. With it ends the pod, then the Job.
//   - A Job that has ended is removed after [goneAfter], and with it its pod and its Secret. A volume goes with its
//     pod.
//   - A Job whose pod never came to run ends at its deadline: [secretCap], then [startCap] once its Secret is there.
//     The deadline is put off once the agent runs.
//
// A stock image of ZooKeeper has no agent, so an init container copies locklab's binary from locklab's image. Control
// connections are port-forwards, each a connection of its own to the API server. They reach a pod on its loopback,
// where no network rule of a fault ever is.
package kubernetes
