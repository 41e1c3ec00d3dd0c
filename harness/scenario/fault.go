package scenario

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// TriggerReadWrite is the point in a client's critical section between its
// read of the resource and its write.
const TriggerReadWrite = "between-read-and-write"

// TriggerWrite is the point in a client's critical section directly before its write of the
// resource, when the client has asked its guard for the last time.
const TriggerWrite = "before-write"

// TriggerReads is the point in the critical section of a reader, or of one who has
// permits, between its two reads of the resource.
const TriggerReads = "between-reads"

// UntilSuperseded is when the resource has served a later token than the
// victim's.
const UntilSuperseded = "superseded"

// ExpectExpiry says that a fault is meant to outlast its victim's session.
const ExpectExpiry = "expiry"

var (
	triggers = []string{TriggerReadWrite, TriggerWrite, TriggerReads}
	untils   = []string{UntilSuperseded}
	fates    = []string{ExpectExpiry}
)

// A Fault is one thing that breaks and is healed again. It begins At or at its
// Trigger, and is healed after For or at Until; one of a momentary kind is over at once.
type Fault struct {
	Kind   string // the name of a FaultKind
	Target string // a host, or one of the other targets

	// What only some kinds have, empty otherwise.
	From      string        // the other end of the links that are harmed: one of the From… constants
	Shape     string        // of a partition: one of the Shape… constants, empty for ShapeAlone
	Way       string        // of a partition: WayIn or WayOut of its target, empty for both
	Verdict   string        // of a partition: VerdictReject, empty for VerdictDrop
	Loss      float64       // share of the packets that are lost, each way
	Bandwidth Size          // a second, each way
	Latency   time.Duration // each way
	Jitter    time.Duration // by how much Latency differs at most
	By        time.Duration // of a clock step

	At time.Duration // after the start of the measured window; meaningless with a Trigger
	// Every is the time from one beginning to the next of a fault that is done Repeat times, or, with 0, as often as
	// the run has room for; 0 = it is done once.
	Every  time.Duration
	Repeat int

	Trigger string // one of the points in the critical section: the victim's first such point in the measured window; or empty

	For   Span   // until it is healed; zero with Until, and for momentary kinds
	Until string // UntilSuperseded, or empty
	// Linger is how much longer it lasts once Until has come; 0 without Until.
	Linger time.Duration

	Expect string // ExpectExpiry, or empty
}

// String describes the fault in one line, for plots and progress.
func (f Fault) String() string {
	var b strings.Builder
	b.WriteString(f.Does())
	if f.Trigger != "" {
		b.WriteString(" " + strings.ReplaceAll(f.Trigger, "-", " "))
	} else {
		b.WriteString(" at " + formatDuration(f.At))
		if f.Every != 0 {
			b.WriteString(" and every " + formatDuration(f.Every))
		}
	}
	switch {
	case f.Momentary():
	case f.Until != "":
		b.WriteString(" until " + f.Until)
		if f.Linger != 0 {
			b.WriteString(" and " + formatDuration(f.Linger))
		}
	default:
		b.WriteString(" for " + f.For.String())
	}
	return b.String()
}

// Does says what is done to what.
func (f Fault) Does() string {
	var s strings.Builder
	s.WriteString(f.Kind + " " + f.Target)
	k, _ := findFaultKind(f.Kind)
	for _, name := range slices.Concat(k.Needs, k.May) {
		if key := findFaultKey(name); key.present(&f) {
			s.WriteString(" " + name + " " + key.field(&f).String())
		}
	}
	return s.String()
}

// Keys returns the fault's keys, as a file has them.
func (f Fault) Keys() map[string]string {
	given := map[string]string{}
	for _, k := range faultKeys {
		if k.present(&f) {
			given[k.name] = k.field(&f).String()
		}
	}
	return given
}

// FaultOf reads what Keys returned.
func FaultOf(given map[string]string) (Fault, error) {
	var f Fault
	for _, name := range sortedKeys(given) {
		if !slices.Contains(faultKeyNames(), name) {
			return Fault{}, &InputError{Msg: "unknown key of a fault " + quote(name), Hint: didYouMean(name, faultKeyNames())}
		}
		if err := findFaultKey(name).field(&f).Set(given[name]); err != nil {
			v := err.(*valueError)
			return Fault{}, &InputError{Msg: v.msg, Hint: v.hint}
		}
	}
	return f, nil
}

// Momentary reports whether the fault is over as soon as it is done.
func (f Fault) Momentary() bool {
	k, _ := findFaultKind(f.Kind)
	return k.Momentary
}

// faultID names the nth time of a scenario's i-th fault, both from 0.
func faultID(i, n, times int) string {
	if times == 1 {
		return fmt.Sprintf("f%d", i+1)
	}
	return fmt.Sprintf("f%d.%d", i+1, n+1)
}

// drawnID names the nth fault that was drawn.
func drawnID(n int) string { return fmt.Sprintf("d%d", n) }
