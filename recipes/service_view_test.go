package recipes

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"locklab/ensembles/labtest/apart"
)

// A serviceView is what all servers report about themselves, and not what a client sees.
type serviceView struct {
	watched    []string // path, a space and the session, of each watch on data; servers do not report watches on lists
	ephemerals []string // paths
	dumps      string   // all that they report about sessions and about znodes that end with them
}

// lookAtService asks servers.
func lookAtService(t *testing.T, servers []string) (v serviceView) {
	t.Helper()
	for _, server := range servers {
		path := ""
		for line := range strings.Lines(apart.Ask(t, server, "wchp")) {
			if session, ok := strings.CutPrefix(line, "\t"); ok {
				v.watched = append(v.watched, path+" "+strings.TrimSpace(session))
			} else {
				path = strings.TrimSpace(line)
			}
		}
		// A server may keep the connection of a client that has gone, even after the session is over, for as long as
		// the session might have lived.
		dump, _, _ := strings.Cut(apart.Ask(t, server, "dump"), "Connections dump")
		v.dumps += dump
		_, owned, _ := strings.Cut(dump, "Sessions with Ephemerals")
		for line := range strings.Lines(owned) {
			if node, ok := strings.CutPrefix(line, "\t/"); ok {
				v.ephemerals = append(v.ephemerals, "/"+strings.TrimSpace(node))
			}
		}
	}
	return v
}

// below returns the paths that are at or below dir.
func below(paths []string, dir string) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(p string) bool {
		return p != dir && !strings.HasPrefix(p, dir+"/") && !strings.HasPrefix(p, dir+" ")
	})
}

// knows reports whether any server still knows the session, or has a watch of it.
func (v serviceView) knows(session int64) bool {
	id := "0x" + strconv.FormatInt(session, 16)
	return slices.ContainsFunc(
		append(strings.Fields(v.dumps), strings.Fields(strings.Join(v.watched, " "))...),
		func(word string) bool {
			return strings.TrimSuffix(word, ":") == id
		},
	)
}
