package inspect

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"locklab/ensembles/txnlog/nodes"
)

// A kind of lock is known by the names of its contenders.
type kind struct {
	name   string
	layout nodes.Layout
	// below is the part of the lock's directory that has the contenders; empty = the directory itself.
	below string
	made  string // by which clients
}

// kinds are the layouts of common clients. A directory is taken for the kind that most of its children belong to.
var kinds = []kind{
	{"queue", nodes.LayoutQueue, "",
		"Curator's InterProcessMutex or LeaderSelector, go-zookeeper's Lock, locklab's Mutex"},
	{"read/write lock", nodes.LayoutReadWrite, "", "Curator's InterProcessReadWriteLock, locklab's RW"},
	{"leader latch", "latch-#", "", "Curator's LeaderLatch, locklab's Leader"},
	{"kazoo lock", kazooLayout, "", "kazoo's Lock, WriteLock or ReadLock"},
	{"textbook lock", nodes.LayoutTextbook, "", "the read/write lock of ZooKeeper's recipes"},
	{"semaphore", nodes.LayoutSemaphore, "/leases", "Curator's InterProcessSemaphoreV2, locklab's Semaphore"},
}

const kazooLayout nodes.Layout = "__lock__#,__rlock__#"

// single is the kind of a lock that is one ephemeral znode.
var single = kind{"single znode", nodes.LayoutZnode, "", "a client whose create succeeds, such as locklab's NaiveMutex"}

// kazooLeases is the kind of kazoo's semaphore, whose leases have names without a place.
var kazooLeases = kind{"kazoo semaphore", "", "", "kazoo's Semaphore"}

var kazooLease = regexp.MustCompile(`^[0-9a-f]{32}$`)

// kazooQueue is the kind of the lock beside kazoo's semaphore, whose holder is the next to take a permit.
var kazooQueue = kind{"kazoo semaphore's queue", kazooLayout, "", "kazoo's Semaphore"}

// classify returns the kind of lock that a directory with these children is; not ok if it is none.
func classify(dir string, children []string) (k kind, ok bool) {
	if slices.Contains(children, "leases") && slices.Contains(children, "locks") {
		return kinds[len(kinds)-1], true
	}
	most := 0
	for _, candidate := range kinds[:len(kinds)-1] {
		selector, _ := candidate.layout.Contends(dir, nil)
		n := 0
		for _, name := range children {
			if _, is := selector.Place(path.Join(dir, name)); is {
				n++
			}
		}
		if n > most {
			k, most = candidate, n
		}
	}
	if k.layout == kazooLayout && strings.HasSuffix(dir, "-__lock__") {
		return kazooQueue, true
	}
	if most > 0 {
		return k, true
	}
	all := len(children) > 0 && !slices.ContainsFunc(children, func(n string) bool { return !kazooLease.MatchString(n) })
	return kazooLeases, all
}

// maker says which client made a contender, as far as its name shows; empty if it does not.
func maker(name string) string {
	switch guid := nodes.GUIDOf(name); {
	case strings.Contains(name, "lock__"):
		return "kazoo"
	case guid == "":
		return ""
	case strings.Contains(guid, "-"):
		return "Curator or locklab"
	default:
		return "go-zookeeper"
	}
}
