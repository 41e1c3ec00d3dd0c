package scenario_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"locklab/ensembles/remote"
	"locklab/harness/scenario"
)

// An ensemble elsewhere may have any number of servers from 1 to 9, and one of locklab's own has 1, 3 or 5.
func TestNumberOfServers(t *testing.T) {
	for n := 1; n <= 10; n++ {
		var servers []string
		for i := range n {
			servers = append(servers, fmt.Sprintf("zk%d:2181", i))
		}
		sc := scenario.Defaults()
		err := sc.Set("connect", strings.Join(servers, ","))
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

// A run counts how many connections one server gets from one address, and a run that needs more than a server takes is
// refused with what helps.
func TestConnections(t *testing.T) {
	const three = "connect: 'a:1,b:1,c:1'\nservers: 3\nclients: 200\nclient-processes: 4\n"
	for _, c := range []struct {
		src   string
		found remote.Found
		want  int
	}{
		{three, remote.Found{}, 67 + 5},
		{three, remote.Found{Silent: "a:1"}, 100 + 5},
		{three + "placement: leader\n", remote.Found{}, 200 + 5},
		{three + "placement: followers\n", remote.Found{}, 100 + 5},
		{three + "clients-per-session: 50\n", remote.Found{}, 2 + 5},
		{three + "lab: kubernetes\n", remote.Found{}, 17 + 5}, // each pod has its own
	} {
		s := mustLoad(t, c.src)
		if got := s.Connections(&c.found); got != c.want {
			t.Errorf("%q: %d connections, want %d", c.src, got, c.want)
		}
		c.found.Words, c.found.MostConnections = remote.Words(), c.want
		if all := s.Elsewhere(&c.found); len(all) != 0 {
			t.Errorf("%q: as many as a server takes are refused: %q", c.src, all)
		}
		c.found.MostConnections = c.want - 1
		if all := s.Elsewhere(&c.found); len(all) != 1 || !strings.Contains(all[0], "--clients-per-session") {
			t.Errorf("%q: more than a server takes: %q", c.src, all)
		}
	}
}
