package control

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"locklab/workloads"
)

// A process receives every setting that it needs. Empty fields are not sent, so an older binary need not know them.
func TestNeededIsReadBack(t *testing.T) {
	cfg := ClientConfig{
		Host:    "c1",
		Recipe:  "mutex",
		Locks:   []string{"/a"},
		Clients: 3,
		Warmup:  time.Second,
		Drain:   workloads.DrainFinish,
		Seed:    1 << 63,
		Load:    workloads.Load{Hold: workloads.Always(5 * time.Millisecond)},
	}
	b := cfg.Needed()
	for _, absent := range []string{"resize", "wait_ns", "think", "observe"} {
		if strings.Contains(string(b), `"`+absent+`"`) {
			t.Errorf("%s is in %s", absent, b)
		}
	}
	var got ClientConfig
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, cfg) {
		t.Errorf("got %+v, want %+v", got, cfg)
	}
}
