package chaos

import (
	"testing"
	"time"
)

// A fault is described by its kind, target, time and length, in that order.
func TestFaultString(t *testing.T) {
	for _, tt := range []struct {
		f    Fault
		want string
	}{
		{Fault{Kind: "pause", Target: "c1", Trigger: TriggerReadWrite, Until: UntilSuperseded},
			"pause c1 between read and write until superseded"},
		{Fault{Kind: "kill", Target: "leader", At: 90 * time.Second, For: Span{Timeouts: 1.5}},
			"kill leader at 1m30s for 1.5T"},
		{Fault{Kind: "kill", Target: "zk2", At: 2 * time.Minute, For: Lasting(3 * time.Second)},
			"kill zk2 at 2m for 3s"},
	} {
		if got := tt.f.String(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}
