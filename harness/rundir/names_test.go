package rundir

import "testing"

// The files of a host's first process have no number, and those of a later one do.
func TestFilesOfLaterProcesses(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{ProcessHistory(1), "process.hist"}, {ProcessHistory(2), "process-2.hist"},
		{ProcessLog(1), "process.log"}, {ProcessLog(12), "process-12.log"},
		{LogPath("c1"), "hosts/c1/process.log"},
	} {
		if c.got != c.want {
			t.Errorf("%s, want %s", c.got, c.want)
		}
	}
}
