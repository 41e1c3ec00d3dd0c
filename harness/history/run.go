package history

import (
	"slices"
	"strings"
	"time"
)

// The ops of a client process, and of the resource, about the run.
const (
	OpReady   Op = "ready"   // Info: all clients of the process are connected
	OpDone    Op = "done"    // Info: all clients of the process have come to an end
	OpResize  Op = "resize"  // Invoke: a semaphore is about to get another number of permits; Info: it has that number
	OpFinal   Op = "final"   // Info, after all clients ended: what a lock protected in the end; see Final
	OpElement Op = "element" // Info: the next element of a lock's list, as it was then
	OpLayout  Op = "layout"  // Info: the command of a foreign lock declares by which znodes its clients contend
	OpDriver  Op = "driver"  // Info: the command of a foreign lock has greeted; see [Driver]
)

// The ops of the harness about the run.
const (
	OpBegin    Op = "begin"    // Info: the run's base
	OpPhase    Op = "phase"    // Info: a phase begins
	OpSnapshot Op = "snapshot" // Info: the servers' counters were read
	OpEnd      Op = "end"      // Info: the last event of a run, apart from end marks
	OpClock    Op = "clock"    // Info: a reading of the wall clock; see WallClock
	// OpPing is about a write of the harness through a server of an ensemble elsewhere.
	OpPing Op = "ping" // Info: the server answered; Fail: it refused, or did not answer in time
	// OpServerLog is about a server's transaction log; see [ServerLog].
	OpServerLog Op = "server-log"
	// OpFinalHeal comes once the schedule is over. OK: nothing is left of any fault and the ensemble is whole; Fail.
	OpFinalHeal Op = "final-heal"
)

// A Phase is a part of a run.
type Phase string

// The phases, in order.
const (
	PhaseEnsemble Phase = "ensemble" // hosts are up; the ensemble is being started
	PhaseConnect  Phase = "connect"  // the ensemble is ready; clients connect
	PhaseWarmup   Phase = "warm-up"  // clients work; nothing is measured
	PhaseMeasure  Phase = "measure"  // the measured window
	PhaseHeal     Phase = "heal"     // what is left of faults is being healed, and clients go on; nothing is measured
	PhaseLiveness Phase = "liveness" // after the final heal clients go on until each had a turn; nothing is measured
	PhaseDrain    Phase = "drain"    // no new acquisitions; waiters finish or are cancelled
	PhaseCollect  Phase = "collect"  // all clients have ended
)

// An Ending says how a run ended.
type Ending string

// The endings.
const (
	EndComplete  Ending = "complete"
	EndInterrupt Ending = "interrupt" // early, on purpose
	EndBroken    Ending = "broken"    // early, because something failed
	EndSpared    Ending = "spared"    // early, to spare an ensemble that is not locklab's
	EndUnserved  Ending = "unserved"  // early, because servers that were up did not serve
)

// Ready is the event that all clients of a process are connected.
func Ready(clients int) Event { return Event{Op: OpReady, Value: int64(clients)} }

// Done is the event that all clients of a process have come to an end.
func Done() Event { return Event{Op: OpDone} }

// Resizing is the event that a process is about to set a semaphore's number of permits.
func Resizing(lock string, permits int) Event {
	e := Resized(lock, permits)
	e.Kind = Invoke
	return e
}

// NewPermits is the number of permits that an event of [OpResize] is about.
func (e *Event) NewPermits() int64 { return e.Value }

// LayoutDeclared is the event that the command of a foreign lock declares a layout of znodes.
func LayoutDeclared(layout string) Event { return Event{Op: OpLayout, Detail: layout} }

// Layout is the layout that was declared, of an event of [OpLayout].
func (e *Event) Layout() string { return e.Detail }

// A Driver is the command of a foreign lock, as it greets. A client process records each greeting once, however often
// it starts the command.
type Driver struct {
	Command  string
	Scope    string // per-client, or per-process for one command that serves all clients of the process
	Declares string // words with spaces in between: layout=queue, pings
}

// Event returns the event that records it.
func (d Driver) Event() Event {
	return Event{Op: OpDriver, Target: d.Command, Mode: Mode(d.Scope), Detail: d.Declares}
}

// Driver returns the payload of an event of [OpDriver].
func (e *Event) Driver() Driver { return Driver{e.Target, string(e.Mode), e.Detail} }

// Pings reports whether it answers pings, so that its standstills are recorded.
func (d Driver) Pings() bool { return slices.Contains(strings.Fields(d.Declares), "pings") }

// Shared reports whether one command serves all clients of the process.
func (d Driver) Shared() bool { return d.Scope == "per-process" }

// Resized is the event that a semaphore has so many permits from now on.
func Resized(lock string, permits int) Event {
	return Event{Op: OpResize, Lock: lock, Value: int64(permits)}
}

// Final is what a lock protected in the end.
type Final struct {
	Lock string
	// Value is the counter's value, or how many elements the list has.
	Value int64
	// Version is that of the znode that ZooKeeper kept it in: how many writes it executed.
	Version int64
}

// Event returns the event that records it.
func (f Final) Event() Event {
	return Event{Op: OpFinal, Lock: f.Lock, Value: f.Value, Token: f.Version}
}

// Final returns the payload of an event of [OpFinal].
func (e *Event) Final() Final { return Final{Lock: e.Lock, Value: e.Value, Version: e.Token} }

// ElementOf is the event that a lock's list has that element next.
func ElementOf(lock string, element int64) Event {
	return Event{Op: OpElement, Lock: lock, Value: element}
}

// Element is the element of an event of [OpElement].
func (e *Event) Element() int64 { return e.Value }

// Begins is the event that a run of a scenario begins, whose base on CLOCK_MONOTONIC is base and whose id is run.
func Begins(base int64, scenario, run string) Event {
	return Event{At: base, Op: OpBegin, Value: base, Target: run, Detail: scenario}
}

// Run is the run's id, of an event of [OpBegin]; empty in a run directory of the first format.
func (e *Event) Run() string { return e.Target }

// Base is the run's base on CLOCK_MONOTONIC, of an event of [OpBegin].
func (e *Event) Base() int64 { return e.Value }

// PhaseBegins is the event that a phase begins at a time.
func PhaseBegins(at int64, p Phase) Event { return Event{At: at, Op: OpPhase, Detail: string(p)} }

// Phase is the phase that begins, of an event of [OpPhase].
func (e *Event) Phase() Phase { return Phase(e.Detail) }

// SnapshotOf is the event that the servers' counters were read into a file, between two times. It is at the middle of
// them.
func SnapshotOf(file string, from, until int64) Event {
	return Event{At: from + (until-from)/2, Op: OpSnapshot, Value: until - from, Detail: file}
}

// ReadingTook is how long it took to read the counters, of an event of [OpSnapshot], in ns; 0 in older records, whose
// readings are at their end.
func (e *Event) ReadingTook() int64 { return e.Value }

// Ends is the last event of a run. If why is not empty, it says why the run ended early.
func Ends(how Ending, why string) Event { return Event{Op: OpEnd, Detail: string(how), Target: why} }

// Ending says how a run ended, of an event of [OpEnd].
func (e *Event) Ending() Ending { return Ending(e.Detail) }

// EndedBecause says why a run ended early, of an event of [OpEnd]; empty if that is not recorded.
func (e *Event) EndedBecause() string { return e.Target }

// A WallClock is a reading of a wall clock.
type WallClock struct {
	// Host is the one whose wall clock was read; empty if it is the harness's.
	Host string
	Wall int64 // what it showed, in nanoseconds since 1970
	Took int64 // how long reading it took since the event's time, in ns; 0 if it took no time
}

// Event returns the event that records the reading, which began at a time.
func (w WallClock) Event(at int64) Event {
	return Event{At: at, Op: OpClock, Target: w.Host, Value: w.Wall, Token: w.Took}
}

// WallClock returns the payload of an event of [OpClock].
func (e *Event) WallClock() WallClock { return WallClock{Host: e.Target, Wall: e.Value, Took: e.Token} }

// A Ping is a write of the harness through a server of an ensemble elsewhere.
type Ping struct {
	Server, Node string // Node is the znode that it made; empty if it failed
	Took         time.Duration
}

// Event returns the event that records a ping that was sent at a time.
func (p Ping) Event(sent int64) Event {
	e := Event{At: sent + int64(p.Took), Op: OpPing, Target: p.Server, Detail: p.Node, Value: int64(p.Took)}
	if p.Node == "" {
		e.Kind = Fail
	}
	return e
}

// Ping returns the payload of an event of [OpPing], whose time is that of the answer.
func (e *Event) Ping() Ping {
	return Ping{Server: e.Target, Node: e.Detail, Took: time.Duration(e.Value)}
}

// A ServerLog is what is recorded about a server's transaction log. An event of kind Info says how far it was as the
// run began, one of kind OK that it was copied, and one of kind Fail that it could not be, or is incomplete.
type ServerLog struct {
	Server string
	// LastZxid is the last transaction that the server had seen: of Info as the run began, of OK before its log was
	// copied. It is 0 where it is not known.
	LastZxid int64
	Bytes    int64  // of OK: how long the copy is
	Detail   string // what is wrong
}

// Event returns the event of a kind that records it.
func (l ServerLog) Event(kind Kind) Event {
	if kind == Info {
		return Event{Op: OpServerLog, Kind: kind, Target: l.Server, Value: l.LastZxid, Detail: l.Detail}
	}
	return Event{Op: OpServerLog, Kind: kind, Target: l.Server, Value: l.Bytes, Token: l.LastZxid, Detail: l.Detail}
}

// ServerLog returns the payload of an event of [OpServerLog].
func (e *Event) ServerLog() ServerLog {
	if e.Kind == Info {
		return ServerLog{Server: e.Target, LastZxid: e.Value, Detail: e.Detail}
	}
	return ServerLog{Server: e.Target, LastZxid: e.Token, Bytes: e.Value, Detail: e.Detail}
}

// FinalHealed is the event of the final heal. With kind OK the text says what was left over and has been healed, if
// anything; with kind Fail, what could not be healed.
func FinalHealed(at int64, kind Kind, text string) Event {
	return Event{At: at, Op: OpFinalHeal, Kind: kind, Detail: text}
}

// Leftovers is what the final heal found to heal, or could not heal, of an event of [OpFinalHeal].
func (e *Event) Leftovers() string { return e.Detail }
