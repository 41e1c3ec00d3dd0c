package docker

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestLeftovers(t *testing.T) {
	now := time.Unix(1000, 0)
	at := func(age time.Duration) time.Time { return now.Add(-age) }
	all := []leftover{
		{lab: "alive", name: "alive-c1", running: true, created: at(time.Hour)},
		{lab: "alive", name: "alive-c2", created: at(time.Hour)}, // not running, but another container of its lab is
		{lab: "alive", name: "alive-net", network: true, created: at(time.Hour)},
		{lab: "dead", name: "dead-c1", created: at(30 * time.Second)},
		{lab: "dead", name: "dead-net", network: true, created: at(31 * time.Second)},
		{lab: "starts", name: "starts-net", network: true, created: at(2 * time.Second)},
		{lab: "starts", name: "starts-c1", created: at(time.Second)},
		{lab: "works", name: "works-net", network: true, created: at(2 * time.Second)},
		{lab: "works", name: "works-c1", running: true, created: at(time.Second)},
	}
	names := func(ls []leftover) string {
		var s []string
		for _, l := range ls {
			s = append(s, l.name)
		}
		return fmt.Sprint(s)
	}
	for age, want := range map[time.Duration][2]string{
		0:                {"[dead-c1 dead-net starts-net starts-c1]", "[]"},
		15 * time.Second: {"[dead-c1 dead-net]", "[starts-net starts-c1]"},
		time.Minute:      {"[]", "[dead-c1 dead-net starts-net starts-c1]"},
	} {
		old, young := ofDeadLabs(all, now.Add(-age))
		if diff := cmp.Diff(want, [2]string{names(old), names(young)}); diff != "" {
			t.Errorf("age %v (-want +got):\n%s", age, diff)
		}
	}
}

// The images of the newest binaries stay, whatever the binary was added to.
func TestOutdated(t *testing.T) {
	newestFirst := []string{"locklab/host:c-1", "locklab/host:c", "sha256:1", "locklab/host:b-2", "locklab/host:a",
		"locklab/host:b", "locklab/host:c-2"}
	for keep, want := range map[int]string{
		0: "[locklab/host:c-1 locklab/host:c sha256:1 locklab/host:b-2 locklab/host:a locklab/host:b locklab/host:c-2]",
		1: "[sha256:1 locklab/host:b-2 locklab/host:a locklab/host:b]",
		3: "[locklab/host:a]",
		9: "[]",
	} {
		if got := fmt.Sprint(outdated(newestFirst, keep)); got != want {
			t.Errorf("keep %d: %s, not %s", keep, got, want)
		}
	}
}
