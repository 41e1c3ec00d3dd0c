package rundir

import (
	"locklab/harness/fail"
)

// Format is the version of the run directories that this package writes.
//
//   - Format 1 has no version. Nothing in it says which run a record belongs to, or where the record ends.
//   - In format 2, env.json has the version and the run's id. Each file of raw history begins with the run's id and
//     its own name. A process that ends as it was asked to leaves an end mark, and so does the harness. The harness
//     records how much it received of each history, and how much it copied of each server's transaction logs and how
//     far that server had come. A record of this format is whole if all of that is as it should be. Later runs also
//     have the checksums of their raw files, and end marks have that of the events; where those are missing they are
//     not demanded.
const Format = 2

// ErrBadFile says that a file of a run directory cannot be understood, or has a format that is not known.
var ErrBadFile = fail.Input.New("bad file in a run directory")

// unproven is the warning about a run directory of format 1.
const unproven = "completeness cannot be proved: this run directory is older than the end marks of records " +
	"(format 1), so a record that lacks its end may go unnoticed"
