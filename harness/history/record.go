package history

import "fmt"

// The ops of the records themselves. A record is the raw history of one process, as the run directory has it.
const (
	OpHeading  Op = "record-heading"  // Info, the first event of a file: see Heading
	OpReceived Op = "record-received" // OK: all of a record has arrived; Fail: not all of it; see Received
	OpEndMark  Op = "record-end"      // Info, the last event of a record: see Recorder.End
)

// A Heading says which record a file has. The harness puts it before what a host sends, so that the record of another
// run, host or process cannot pass for this one.
type Heading struct {
	Run  string // the run's id
	File string // below the folder of all hosts, with slashes
}

// Event returns the event that records the heading.
func (h Heading) Event() Event { return Event{Op: OpHeading, Target: h.File, Detail: h.Run} }

// Heading returns the payload of an event of [OpHeading].
func (e *Event) Heading() Heading { return Heading{Run: e.Detail, File: e.Target} }

// A Received is what the harness received of a record by the end of a run.
type Received struct {
	File   string // as in the Heading
	Bytes  int64  // the length of the file
	Detail string // why the rest did not arrive, of kind Fail
}

// Event returns the event of a kind that records it.
func (r Received) Event(kind Kind) Event {
	return Event{Op: OpReceived, Kind: kind, Target: r.File, Value: r.Bytes, Detail: r.Detail}
}

// Received returns the payload of an event of [OpReceived].
func (e *Event) Received() Received {
	return Received{File: e.Target, Bytes: e.Value, Detail: e.Detail}
}

// endMark is the event that a recorder has recorded that many events and will record no more.
func endMark(events int64) Event { return Event{Op: OpEndMark, Value: events} }

// Encode returns the frame of one event, as in a raw history.
func Encode(e Event) []byte {
	buf := make([]byte, bound(&e))
	return buf[:putFrame(buf, &e)]
}

// A Record is what one file of raw history says about its own completeness.
type Record struct {
	File    string  // below the directory that was read, with slashes
	Bytes   int64   // its length
	Torn    int64   // how many bytes at its end do not make up whole events, unless all of them are zeros
	Zeros   int64   // how many zeros follow its events
	Heading Heading // zero if it has none
	Events  int64   // the number of events, without heading and end mark
	Done    bool    // it has an event of [OpDone]
	// Ends says that it ends with an end mark, and Recorded how many events the mark counts.
	Ends     bool
	Recorded int64
}

// note adds an event of the file, which may be its first.
func (r *Record) note(e *frame, first bool) {
	r.Ends = false
	switch Op(e.texts[textOp]) {
	case OpHeading:
		if first {
			r.Heading = Heading{Run: string(e.texts[textDetail]), File: string(e.texts[textTarget])}
		}
	case OpEndMark:
		r.Ends, r.Recorded = true, e.value
	case OpDone:
		r.Done = true
		r.Events++
	default:
		r.Events++
	}
}

// Tear says that the file ends in the middle of an event; empty if it does not.
func (r *Record) Tear() string {
	if r.Torn == 0 {
		return ""
	}
	return fmt.Sprintf("history %s is torn %d bytes before its end", r.File, r.Torn)
}
