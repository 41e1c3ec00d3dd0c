package ensembles

import (
	"slices"
	"testing"
)

func TestLogsSince(t *testing.T) {
	names := []string{"log.f0", "snapshot.ef", "log.1", "log.1a0", "acceptedEpoch", "log.100", "snapshot.19f"}
	for _, c := range []struct {
		after int64
		want  []string
	}{
		{0, []string{"log.1", "log.f0", "log.100", "log.1a0"}},
		{0xee, []string{"log.1", "log.f0", "log.100", "log.1a0"}},
		{0xef, []string{"log.f0", "log.100", "log.1a0"}}, // the last transaction that log.1 can contain
		{0xf5, []string{"log.f0", "log.100", "log.1a0"}},
		{0x19e, []string{"log.100", "log.1a0"}},
		{0x19f, []string{"log.1a0"}},
		{0x500, []string{"log.1a0"}},
	} {
		if got := logsSince(names, c.after); !slices.Equal(got, c.want) {
			t.Errorf("after %#x: %v, want %v", c.after, got, c.want)
		}
	}
	if got := logsSince([]string{"snapshot.0"}, 7); len(got) != 0 {
		t.Errorf("no log: %v", got)
	}
}
