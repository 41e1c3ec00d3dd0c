package scenario_test

import (
	"strings"
	"testing"
	"time"

	"locklab/ensembles/remote"
	"locklab/harness/scenario"
)

// An ensemble elsewhere may have any number of servers from 1 to 9, and one of locklab's own has 1, 3 or 5.
func TestNumberOfServers(t *testing.T) {
	for n := 1; n <= 10; n++ {
		servers := strings.TrimSuffix(strings.Repeat("zk:2181,", n), ",")
		sc := scenario.Defaults()
		err := sc.Set("connect", servers)
		if err == nil {
			err = sc.Adopt(&remote.Found{Tick: time.Second, MinSessionTimeout: time.Second,
				MaxSessionTimeout: 10 * time.Second})
		}
		if err == nil {
			err = sc.Validate()
		}
		if ok := n <= 9; (err == nil) != ok || ok && sc.Servers != n {
			t.Errorf("connect names %d: %v, and the scenario has %d", n, err, sc.Servers)
		}
	}
	for n, text := range map[int]string{1: "1", 2: "2", 3: "3", 4: "4", 5: "5", 7: "7", 9: "9"} {
		sc := scenario.Defaults()
		err := sc.Set("servers", text)
		if err == nil {
			err = sc.Validate()
		}
		if want := n == 1 || n == 3 || n == 5; (err == nil) != want {
			t.Errorf("%d servers of its own: %v", n, err)
		}
	}
}
