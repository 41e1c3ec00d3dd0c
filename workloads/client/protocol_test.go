package client

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"locklab/workloads"
)

// What a process needs to be told arrives; what says nothing is not sent, so that a binary
// of a time before that field need not know it.
func TestNeededIsReadBack(t *testing.T) {
	cfg := Config{Host: "c1", Recipe: "mutex", Locks: []string{"/a"}, Clients: 3, Warmup: time.Second, Drain: DrainFinish, Seed: 1 << 63,
		Hold: workloads.Always(5 * time.Millisecond)}
	b := cfg.Needed()
	for _, absent := range []string{"resize", "wait_ns", "think", "observe"} {
		if strings.Contains(string(b), `"`+absent+`"`) {
			t.Errorf("%s is in %s", absent, b)
		}
	}
	var got Config
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, cfg) {
		t.Errorf("got %+v, want %+v", got, cfg)
	}
}
