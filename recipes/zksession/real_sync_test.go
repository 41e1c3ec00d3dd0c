package zksession

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"locklab/ensembles/labtest/apart"
)

// A leader that waits for its followers has proposed a create and not carried it out. ZooKeeper's own sync of another
// of its clients is answered at once, and the client does not find the znode. Sync is answered only behind the create.
func TestSyncComesBehindWhatTheLeaderHasProposed(t *testing.T) {
	if testing.Short() {
		t.Skip("needs ZooKeeper")
	}
	lab := apart.Start(t, int(testTimeout/apart.Tick)) // the leader waits for as long as the test does
	leader, followers := lab.Servers[0], lab.Servers[1:]
	toLeader := Config{Servers: []string{leader}, Timeout: testTimeout,
		Logger: slog.New(slog.DiscardHandler)}
	connect := func() ZooKeeper {
		s, err := Connect(within(t), toLeader)
		if err != nil {
			t.Fatal(err)
		}
		closeAfter(t, s.Close)
		return s
	}
	creator, searcher := connect(), connect()
	other, err := ConnectPlain(within(t), PlainConfig{Config: toLeader})
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, other.Close)
	for _, server := range followers {
		lab.Pause(t, server)
	}
	created, searched := make(chan error, 1), make(chan error, 1)
	go func() { _, err := creator.Create(within(t), "/proposed", nil, Persistent); created <- err }()
	for patience := within(t); !strings.Contains(
		apart.Ask(t, leader, "mntr"), "zk_outstanding_requests\t1\n"); {
		if patience.Err() != nil {
			t.Fatal("the create did not reach the leader")
		}
	}
	var names []string
	go func() {
		err := searcher.Sync(within(t), "/")
		if err == nil {
			names, err = searcher.Children(within(t), "/")
		}
		searched <- err
	}()
	if _, err := other.Conn.Sync("/"); err != nil {
		t.Fatal(err)
	}
	if early, _, err := other.Conn.Children("/"); err != nil || slices.Contains(early, "proposed") {
		t.Errorf("behind ZooKeeper's own sync: %v, %v; want it not to wait for the create", early, err)
	}

	for _, server := range followers {
		lab.Resume(t, server)
	}
	if err := errors.Join(<-created, <-searched); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(names, "proposed") {
		t.Errorf("behind Sync: %v, want the znode", names)
	}
}
