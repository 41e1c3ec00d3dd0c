package curator_test

import (
	"bufio"
	"fmt"
	"os/exec"
	"slices"
	"testing"

	"locklab/ensembles/labtest/suite"
	"locklab/recipes"
	"locklab/recipes/curator"
)

// Candidates in both languages elect one leader together, in either of Curator's layouts, and each side knows the
// other's by its id.
func TestMixedElection(t *testing.T) {
	suite.Nightly(t, "a peer; TestOneQueue has both in one queue")
	w := newWorld(t, "curator-mutex")
	for _, kind := range []string{"latch", "selector"} {
		path := w.path + "-" + kind
		l, err := recipes.NewLeader(recipes.LeaderConfig{Session: w.inGo(), Path: path, ID: "go", Latch: kind == "latch"})
		if err != nil {
			t.Fatal(err)
		}
		seen := l.Observe(w.within())
		told := func(id string, token int64) {
			t.Helper()
			info := <-seen
			for info.ID == "" && id != "" && info.Err == nil { // between two terms
				info = <-seen
			}
			if info.ID != id || info.Err != nil || token != 0 && info.Token != token {
				t.Fatalf("%s: told of %+v, want %q with token %d", kind, info, id, token)
			}
		}
		first := w.acquire(l)
		told("go", first.Token())

		cmd := exec.CommandContext(w.within(), w.argv[0],
			append(slices.Clone(w.argv[1:]), curator.Election, kind, w.servers[0], path, "java")...)
		cmd.Stderr = t.Output()
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		says := bufio.NewScanner(out)
		java := func(ask, want string) {
			t.Helper()
			if ask != "" {
				fmt.Fprintln(in, ask)
			}
			if !says.Scan() || says.Text() != want {
				t.Fatalf("%s: Java says %q, want %q", kind, says.Text(), want)
			}
		}
		w.queued(path, 2)
		java("who", "go")
		all, err := l.Participants(w.within())
		if err != nil || len(all) != 2 || string(all[0].Data) != "go" || string(all[1].Data) != "java" {
			t.Errorf("%s: participants %+v, %v", kind, all, err)
		}

		if err := l.Resign(w.within()); err != nil {
			t.Fatal(err)
		}
		java("", "leads")
		told("java", 0)
		next := make(chan *recipes.Hold)
		go func() { next <- w.acquire(l) }()
		w.queued(path, 2)
		java("who", "java")
		fmt.Fprintln(in, "resign")
		second := <-next
		if second.Token() <= first.Token() {
			t.Errorf("%s: token %d after %d", kind, second.Token(), first.Token())
		}
		told("go", second.Token())
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		w.release(second)
	}
}
