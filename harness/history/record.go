package history

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// The ops of the records themselves. A record is the raw history of one process, as the run directory has it.
const (
	OpHeading  Op = "record-heading"  // Info, the first event of a file: see Heading
	OpReceived Op = "record-received" // OK: all of a record has arrived; Fail: not all of it; see Received
	OpEndMark  Op = "record-end"      // Info, the last event of a record: see Recorder.End
	OpContent  Op = "file-content"    // Info, of the harness at a run's end: see Content
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

// A Content is what a raw file of the run directory contained when the run ended.
type Content struct {
	File  string // below the run directory, with slashes
	Bytes int64
	Sum   string // identifies the bytes
}

// Event returns the event that records it.
func (c Content) Event() Event {
	return Event{Op: OpContent, Target: c.File, Value: c.Bytes, Detail: c.Sum}
}

// Content returns the payload of an event of [OpContent].
func (e *Event) Content() Content {
	return Content{File: e.Target, Bytes: e.Value, Sum: e.Detail}
}

// endMark is the event that a recorder has recorded that many events, whose checksums make up that sum, and will record
// no more.
func endMark(events int64, sum uint64) Event {
	return Event{Op: OpEndMark, Value: events, Detail: strconv.FormatUint(sum, 16)}
}

// Encode returns the frame of one event, as in a raw history.
func Encode(e Event) []byte {
	buf := make([]byte, bound(&e))
	return buf[:putFrame(buf, &e)]
}

// WriteRecord writes the whole record of a process that ended as it was asked to, as the harness receives it: a
// heading, the events, which are stamped, and an end mark.
func WriteRecord(w io.Writer, h Heading, events []Event) error {
	heading := h.Event()
	mark := endMark(0, 0)
	if len(events) > 0 {
		first, last := events[0], events[len(events)-1]
		heading.At, heading.Process, mark.At, mark.Process = first.At, first.Process, last.At, last.Process
	}
	out := bufio.NewWriter(w)
	_, err := out.Write(Encode(heading))
	var sum uint64
	for _, e := range events {
		b := Encode(e)
		sum += uint64(checksumOf(b))
		_, werr := out.Write(b)
		err = errors.Join(err, werr)
	}
	all := endMark(int64(len(events)), sum)
	mark.Value, mark.Detail = all.Value, all.Detail
	_, werr := out.Write(Encode(mark))
	return errors.Join(err, werr, out.Flush())
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
	// Sum is the sum of the checksums of these events. RecordedSum is the sum that the mark has, in hexadecimal digits;
	// empty if it has none.
	Sum         uint64
	RecordedSum string
}

// note adds an event of the file, which may be its first. The checksum is that of its frame.
func (r *Record) note(e *frame, checksum uint32, first bool) {
	r.Ends = false
	switch Op(e.texts[textOp]) {
	case OpHeading:
		if first {
			r.Heading = Heading{Run: string(e.texts[textDetail]), File: string(e.texts[textTarget])}
		}
	case OpEndMark:
		r.Ends, r.Recorded, r.RecordedSum = true, e.value, string(e.texts[textDetail])
	case OpDone:
		r.Done = true
		r.add(checksum)
	default:
		r.add(checksum)
	}
}

func (r *Record) add(checksum uint32) {
	r.Events++
	r.Sum += uint64(checksum)
}

// Changed reports whether the events are not those that the end mark counts, although they may be as many.
func (r *Record) Changed() bool {
	return r.Ends && r.RecordedSum != "" && r.RecordedSum != strconv.FormatUint(r.Sum, 16)
}

// Tear says that the file ends in the middle of an event; empty if it does not.
func (r *Record) Tear() string {
	if r.Torn == 0 {
		return ""
	}
	return fmt.Sprintf("history %s is torn %d bytes before its end", r.File, r.Torn)
}
