package lock

import (
	"locklab/ensembles/txnlog/nodes"
	"locklab/workloads"
)

// byCommand is why a transaction cannot check the holds of a command.
const byCommand = "is a command with a session of its own, in which nothing can be written for it"

var curatorMutex = Recipe{
	Name:      "curator-mutex",
	About:     "[Apache Curator](#apache-curator)'s `InterProcessMutex`.",
	Workloads: []string{workloads.Mutex, workloads.MultiLock},
	Layout:    nodes.LayoutQueue,
	Promises:  Promises{Exclusive: true, Tokens: true, Queue: true, Unchecked: byCommand},
	Needs:     Needs{Foreign: true},
}

var curatorReadWrite = Recipe{
	Name:      "curator-rw",
	About:     "Curator's `InterProcessReadWriteLock`.",
	Workloads: []string{workloads.ReadWrite, workloads.Mutex},
	Layout:    nodes.LayoutReadWrite,
	Promises:  Promises{Exclusive: true, Tokens: true, Queue: true, Downgrade: true, Unchecked: byCommand},
	// Before 5.5, its reader's znode stands behind the writers that wait (CURATOR-621).
	Needs: Needs{Foreign: true, LeakyDowngrade: true},
}

var curatorSemaphore = Recipe{
	Name:      "curator-semaphore",
	About:     "Curator's `InterProcessSemaphoreV2`.",
	Workloads: []string{workloads.Semaphore},
	Layout:    nodes.LayoutSemaphore,
	Seen:      SeenNot,
	Promises:  Promises{Exclusive: true, Unchecked: byCommand},
	Needs:     Needs{Foreign: true, OneByOne: true},
}

var curatorSemaphoreMutex = Recipe{
	Name:      "curator-semaphore-mutex",
	About:     "Curator's `InterProcessSemaphoreMutex`.",
	Workloads: []string{workloads.Mutex},
	Layout:    nodes.LayoutSemaphore,
	Seen:      SeenLeases,
	Promises:  Promises{Exclusive: true, Tokens: true, Unchecked: byCommand},
	Needs:     Needs{Foreign: true},
}

var curatorMulti = Recipe{
	Name:      "curator-multi",
	About:     "Curator's `InterProcessMultiLock`.",
	Workloads: []string{workloads.MultiLock},
	Layout:    nodes.LayoutQueue,
	Promises:  Promises{Exclusive: true, Tokens: true, Queue: true, Several: true, Unchecked: byCommand},
	Needs:     Needs{Foreign: true},
}
