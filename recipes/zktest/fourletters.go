package zktest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A fourLetterWord is a question of an administrator, which comes in place of the first frame's length. It is an error
// so that it can be returned instead of a frame.
type fourLetterWord string

func (w fourLetterWord) Error() string { return "four-letter word " + string(w) }

// fourLetters returns the word that a length may be.
func fourLetters(head [4]byte) (fourLetterWord, bool) {
	w := fourLetterWord(head[:])
	return w, slices.Contains([]fourLetterWord{"ruok", "wchp", "dump"}, w)
}

// answer answers a four-letter word as a server does, as far as the words are about sessions, ephemeral znodes and
// watches on data.
func (s *Service) answer(m *server, word fourLetterWord) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case m.stopped:
		return ""
	case word == "ruok":
		return "imok"
	case word == "wchp":
		return m.watchedPaths()
	}
	return s.dump(m)
}

// watchedPaths lists the paths with watches on data, each followed by its sessions.
func (m *server) watchedPaths() string {
	var b strings.Builder
	for _, p := range slices.Sorted(maps.Keys(m.watches.data)) {
		fmt.Fprintln(&b, p)
		for l := range m.watches.data[p] {
			fmt.Fprintf(&b, "\t0x%x\n", uint64(l.session.id))
		}
	}
	return b.String()
}

// dump lists the sessions, and the ephemeral znodes by session.
func (s *Service) dump(m *server) string {
	var b strings.Builder
	fmt.Fprintf(&b, "SessionTracker dump:\n%d sessions\n", len(s.sessions))
	for _, id := range slices.Sorted(maps.Keys(s.sessions)) {
		fmt.Fprintf(&b, "\t0x%x\n", uint64(id))
	}
	owned := map[int64][]string{}
	for p, n := range m.view() {
		if n.ephemeral() {
			owned[n.owner] = append(owned[n.owner], p)
		}
	}
	fmt.Fprintf(&b, "ephemeral nodes dump:\nSessions with Ephemerals (%d):\n", len(owned))
	for _, id := range slices.Sorted(maps.Keys(owned)) {
		fmt.Fprintf(&b, "0x%x:\n", uint64(id))
		for _, p := range slices.Sorted(slices.Values(owned[id])) {
			fmt.Fprintf(&b, "\t%s\n", p)
		}
	}
	return b.String() + "Connections dump\n"
}
