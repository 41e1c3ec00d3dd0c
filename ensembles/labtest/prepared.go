package labtest

import (
	"math"
	"path"
	"strings"

	"locklab/ensembles/txnlog"
)

// A PreparedDir is a directory that exists before an ensemble's servers start for the first time and looks as if it
// had been in use for long.
type PreparedDir struct {
	Path string
	// Left is how many more sequential znodes can be made in the directory before their numbers, which are counted in
	// 31 bits, are exhausted.
	Left int32
}

// Prepared returns the transaction log that servers find when they start for the first time, as a file of their
// directory for [ensembles.ServerConfig].
//
// A server names a sequential znode after the number of children that were made and deleted in the parent so far.
// That number is part of the transaction that makes a child (CreateTxn.parentCVersion), and a server that reads its
// log takes it from there (DataTree.createNode). So one child that is made and deleted gives a directory any age.
func Prepared(dirs ...PreparedDir) map[string][]byte {
	var txns []txnlog.Txn
	add := func(op txnlog.Op) {
		txns = append(txns, txnlog.Txn{Zxid: int64(len(txns) + 1), Time: 1, Type: op.Type, Ops: []txnlog.Op{op}})
	}
	create := func(p string, counter int32) {
		add(txnlog.Op{Type: txnlog.Create, Path: p, ACL: txnlog.OpenToAll(), ParentCVersion: counter})
	}
	made := map[string]bool{}
	var inRoot int32
	for _, d := range dirs {
		p := ""
		for name := range strings.SplitSeq(strings.Trim(path.Clean(d.Path), "/"), "/") {
			parent := p
			if p += "/" + name; !made[p] {
				made[p] = true
				if parent == "" {
					inRoot++
				}
				create(p, max(inRoot, 1))
			}
		}
		create(p+"/old", math.MaxInt32-d.Left)
		add(txnlog.Op{Type: txnlog.Delete, Path: p + "/old"})
	}
	return map[string][]byte{"version-2/log.1": txnlog.Encode(txns)}
}
