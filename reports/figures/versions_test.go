package figures

import (
	"strings"
	"testing"
	"time"
)

// The table has the last trial of each thing with each version, and says what was found where something was.
func TestTrials(t *testing.T) {
	root := t.TempDir()
	var b strings.Builder
	if err := TrialTable(&b, nil); err != nil || !strings.Contains(b.String(), "make versions") {
		t.Errorf("without trials: %s, %v", b.String(), err)
	}
	for i, trial := range []Trial{
		{What: "demo", ZooKeeper: "3.9.3", Exit: 1, Said: "it broke"},
		{What: "demo", ZooKeeper: "3.9.3", Locklab: "b"},
		{What: "demo", ZooKeeper: "3.8.0", Locklab: "a", Exit: 3, Said: "two clients held the lock"},
		{What: "gallery", ZooKeeper: "3.9.3", Locklab: "b", Said: "caught 34 of 35 known bugs in 13m49s"},
		{What: "upgrade", ZooKeeper: "3.9.3", Locklab: "b", Exit: 7, Said: "no image"},
	} {
		trial.SchemaVersion, trial.Begun = SchemaVersion, time.Unix(int64(i), 0)
		if err := AppendTrial(root, trial); err != nil {
			t.Fatal(err)
		}
	}
	all, err := ReadTrials(root)
	if err != nil || len(all) != 5 {
		t.Fatalf("%+v, %v", all, err)
	}
	b.Reset()
	if err := TrialTable(&b, all); err != nil {
		t.Fatal(err)
	}
	const want = `| | 3.8.0 | 3.9.3 |
|---|---|---|
| demo | finding | works |
| gallery | n/a | works (34 of 35) |
| upgrade | n/a | refused |

- demo, 3.8.0: two clients held the lock
- upgrade, 3.9.3: no image

Last tried on 1970-01-01; locklab a, b.
`
	if b.String() != want {
		t.Errorf("got:\n%s", b.String())
	}
}
