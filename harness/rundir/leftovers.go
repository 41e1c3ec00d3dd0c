package rundir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"locklab/ensembles"
	"locklab/harness/check"
	"locklab/harness/history"
)

// WriteDump writes the answer of a server to "dump" at the end of a run.
func WriteDump(dir, server, answer string) error {
	return replaceWith(filepath.Join(HostDir(dir, server), dumpFile), []byte(answer))
}

// barrier begins the name of the znode that a write through each server creates before the server's log is copied.
const barrier = "locklab-ready-"

func isBarrier(node string) bool { return strings.HasPrefix(path.Base(node), barrier) }

// addLeftovers notes the ephemeral znodes that a server still had at the end, although their session had been closed
// before the server committed its last write.
func addLeftovers(dir string, log *check.ServerLog) {
	var barriers []int64
	for _, l := range log.History.Lives {
		if isBarrier(l.Path) && l.Czxid != 0 {
			barriers = append(barriers, l.Czxid)
		}
	}
	slices.Sort(barriers)
	if len(barriers) == 0 {
		return
	}
	before := barriers[max(0, len(barriers)-len(log.Servers))]
	for _, server := range log.Servers {
		dump, err := os.ReadFile(filepath.Join(HostDir(dir, server), dumpFile))
		if errors.Is(err, fs.ErrNotExist) {
			continue // it did not serve at the end
		}
		if err != nil {
			log.Doubts = append(log.Doubts, err.Error())
			continue
		}
		for session, paths := range ensembles.ParseDump(string(dump)) {
			s := log.History.Sessions[session]
			if s == nil || s.Closed == 0 || s.Closed >= before {
				continue
			}
			for _, p := range paths {
				id := history.SessionID(session)
				text := fmt.Sprintf("server %s still had %s at the end, although its session %s was closed at zxid %s",
					server, p, id, check.Zxid(s.Closed))
				log.Contradictions = append(log.Contradictions,
					check.Contradiction{Server: server, Session: id, Path: p, Zxid: s.Closed, Text: text})
			}
		}
	}
}
