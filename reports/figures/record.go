package figures

import (
	"path/filepath"
	"time"

	"locklab/harness/records"
)

// SchemaVersion is the schema_version of a record.
const SchemaVersion = 1

// Dir has the records, from the root of the repository.
const Dir = "reports/measurements/records"

// A Record is one round of one cell.
type Record struct {
	SchemaVersion int `json:"schema_version"`
	// Piece names what is measured together, and Round counts how often that was done, from 1.
	Piece string `json:"piece"`
	Round int    `json:"round"`
	// Cell has what distinguishes the cell within its figure, such as the number of clients.
	Cell  map[string]string `json:"cell"`
	Begun time.Time         `json:"begun"`
	// TookS is how long the whole piece took, in seconds, with its lab.
	TookS      float64    `json:"took_s"`
	Locklab    string     `json:"locklab"` // revision
	Conditions Conditions `json:"conditions"`
	// Others is how many processors were used by processes that are no part of the measurement: during it or, if processes
	// that are part of it were killed, just before and after. It is null if it is not known.
	Others *float64 `json:"other_processors"`
	// Steady says that the servers' throughput had stopped rising before, in windows that are not recorded; null if that
	// was not tested.
	Steady *bool `json:"steady,omitempty"`
	// Failed says why the round has no figures, such as a violation; empty if it has.
	Failed string `json:"failed,omitempty"`
	// Values has numbers by their names in the catalogue of package result. A number that the round does not have is left
	// out.
	Values map[string]float64 `json:"values"`
}

// Conditions are what figures depend on besides what they are figures of. Rounds under different conditions are never
// shown together.
type Conditions struct {
	ZooKeeper  string `json:"zookeeper"`
	JVM        string `json:"jvm"`
	Lab        string `json:"lab"`
	Processors int    `json:"processors"`
	// Machine names a machine where that is needed, such as "hosted".
	Machine string `json:"machine,omitempty"`
}

// mostOthers is the share of the processors that others may use in a round that is shown.
const mostOthers = 0.1

// Disturbed reports whether other processes used so much of the processors that the round is not shown. A round that
// does not know counts as disturbed.
func (r *Record) Disturbed() bool {
	return r.Others == nil || *r.Others > mostOthers*float64(r.Conditions.Processors)
}

// Shown reports whether the round has figures to be shown.
func (r *Record) Shown() bool { return r.Failed == "" && !r.Disturbed() }

// Read reads the records of a figure, in the order in which they were made. There are none if there is no file.
func (f *Figure) Read(root string) ([]Record, error) {
	return records.ReadFile(f.file(root), func(r *Record) int { return r.SchemaVersion }, SchemaVersion)
}

// Append adds the records of one round of a piece in one write, so that a program that is killed leaves whole rounds.
func (f *Figure) Append(root string, round []Record) error {
	return records.Append(f.file(root), round...)
}

func (f *Figure) file(root string) string { return filepath.Join(root, Dir, f.Name+".jsonl") }
