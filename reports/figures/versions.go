package figures

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"locklab/harness/records"
	"locklab/reports/words"
)

// A Trial is one thing that was tried with one version of ZooKeeper.
type Trial struct {
	SchemaVersion int       `json:"schema_version"`
	What          string    `json:"what"`
	ZooKeeper     string    `json:"zookeeper"`
	Begun         time.Time `json:"begun"`
	TookS         float64   `json:"took_s"`
	Locklab       string    `json:"locklab"` // revision
	Exit          int       `json:"exit"`    // the exit code of locklab or of a test
	Said          string    `json:"said"`    // its headline
}

// The outcomes of a trial.
const (
	works   = "works"
	finding = "finding"
	unknown = "unknown"
	refused = "refused"
	failed  = "failed"
)

// outcome says what the exit code means.
func (t *Trial) outcome() string {
	switch t.Exit {
	case 0:
		return works
	case 3:
		return finding
	case 2, 7:
		return refused
	case 6:
		return unknown
	}
	return failed
}

// share says how many of the known bugs a gallery has caught; empty if the trial is another one.
func (t *Trial) share() string {
	var caught, all int
	if n, _ := fmt.Sscanf(t.Said, "caught %d of %d known bugs", &caught, &all); n < 2 {
		return ""
	}
	return fmt.Sprintf(" (%d of %d)", caught, all)
}

// ReadTrials reads the trials that were kept below root, in the order in which they were made.
func ReadTrials(root string) ([]Trial, error) {
	return records.ReadFile(trialsFile(root), func(t *Trial) int { return t.SchemaVersion }, SchemaVersion)
}

// AppendTrial keeps a trial.
func AppendTrial(root string, t Trial) error { return records.Append(trialsFile(root), t) }

func trialsFile(root string) string { return filepath.Join(root, Dir, "versions.jsonl") }

// TrialTable writes in Markdown what came of the last trial of each thing with each version, a version a column.
func TrialTable(w io.Writer, all []Trial) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(w, "*Not tried yet: `make versions`.*")
		return err
	}
	last := map[[2]string]*Trial{}
	var whats, versions, revisions []string
	add := func(to *[]string, s string) {
		if !slices.Contains(*to, s) {
			*to = append(*to, s)
		}
	}
	for i := range all {
		t := &all[i]
		last[[2]string{t.What, t.ZooKeeper}] = t
		add(&whats, t.What)
		add(&versions, t.ZooKeeper)
	}
	slices.Sort(versions)
	fmt.Fprintf(w, "| | %s |\n|%s\n", strings.Join(versions, " | "), strings.Repeat("---|", len(versions)+1))
	var notes []string
	for _, what := range whats {
		cells := []string{what}
		for _, version := range versions {
			t := last[[2]string{what, version}]
			if t == nil {
				cells = append(cells, words.Absent)
				continue
			}
			cells = append(cells, t.outcome()+t.share())
			add(&revisions, t.Locklab)
			if t.outcome() != works {
				notes = append(notes, fmt.Sprintf("- %s, %s: %s", what, version, t.Said))
			}
		}
		fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | "))
	}
	if len(notes) > 0 {
		fmt.Fprintf(w, "\n%s\n", strings.Join(notes, "\n"))
	}
	newest := slices.MaxFunc(all, func(a, b Trial) int { return a.Begun.Compare(b.Begun) })
	_, err := fmt.Fprintf(w, "\nLast tried on %s; locklab %s.\n", newest.Begun.UTC().Format(time.DateOnly),
		strings.Join(revisions, ", "))
	return err
}
