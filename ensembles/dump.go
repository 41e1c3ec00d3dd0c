package ensembles

import (
	"strconv"
	"strings"
)

// ParseDump reads the paths of the ephemeral znodes, by session, from a server's answer to the four-letter word dump.
func ParseDump(answer string) map[int64][]string {
	all := map[int64][]string{}
	var session int64
	for line := range strings.Lines(answer) {
		line = strings.TrimRight(line, "\r\n")
		if path, ok := strings.CutPrefix(line, "\t"); ok && strings.HasPrefix(path, "/") && session != 0 {
			all[session] = append(all[session], path)
			continue
		}
		session = 0
		if hex, ok := strings.CutSuffix(line, ":"); ok && strings.HasPrefix(hex, "0x") {
			if id, err := strconv.ParseUint(hex, 0, 64); err == nil {
				session = int64(id)
			}
		}
	}
	return all
}
