package control

import "fmt"

// The commands that a client process reads from its standard input, a line each.
const (
	// CommandGo starts the work: go START END, both in ns of CLOCK_MONOTONIC.
	// START is the same for all processes, so they begin together; after END no
	// client begins another acquisition, and the drain begins.
	CommandGo = "go"
	// CommandUntil closes the window earlier than announced: until END, in ns of CLOCK_MONOTONIC.
	CommandUntil = "until"
	// CommandStop ends the work now, as if the window had closed, and cancels waiters.
	CommandStop = "stop"
	// CommandFinal makes the process record the final values of the locks' data, once its work is over: one OpFinal
	// for each lock. A process that cannot read them ends with an error.
	CommandFinal = "final"
	// CommandArm arms a trigger: arm FAULT POINT. The next client that comes to
	// that point stops the whole process.
	CommandArm = "arm"
	// With a third word it does something else to itself there: arm FAULT POINT expire|move.
	// CommandDisarm takes it back: disarm FAULT.
	CommandDisarm = "disarm"
	// CommandStrike does it at once, to the session of a client: strike FAULT expire|move CLIENT.
	CommandStrike = "strike"
	// CommandSettle takes a move back: settle FAULT.
	CommandSettle = "settle"
)

// FormatGo writes the command that starts the work.
func FormatGo(start, end int64) string { return fmt.Sprintf("%s %d %d", CommandGo, start, end) }

// FormatUntil writes the command that closes the window at end, or now if that is past.
func FormatUntil(end int64) string { return fmt.Sprintf("%s %d", CommandUntil, end) }

// FormatArm writes the command that arms a trigger.
func FormatArm(fault, point string) string { return CommandArm + " " + fault + " " + point }

// FormatArmTo writes the command that arms a trigger for an action other than a stop: one of the Strike… constants.
func FormatArmTo(fault, point, action string) string { return FormatArm(fault, point) + " " + action }

// FormatStrike writes the command that injects a fault into the session of a client (HOST/NUMBER) at once.
func FormatStrike(fault, action, client string) string {
	return CommandStrike + " " + fault + " " + action + " " + client
}

// FormatSettle writes the command that lets clients back to the server that a move drove them from, and
// disarms the move if it has not been made yet.
func FormatSettle(fault string) string { return CommandSettle + " " + fault }

// FormatDisarm writes the command that disarms a trigger.
func FormatDisarm(fault string) string { return CommandDisarm + " " + fault }

// What a client does to itself, on command or when it comes to an armed point.
const (
	StrikeStop   = "stop"   // stops its whole process
	StrikeExpire = "expire" // ends its own session at the servers
	StrikeMove   = "move"   // resets its connection, and keeps away from that server
)

// The points of a critical section.

// BetweenReadAndWrite is the point of a critical section after the counter was
// read and before it is written: where a stale write loses an update.
const BetweenReadAndWrite = "between-read-and-write"

// BeforeWrite is the point of a critical section directly before the counter is written, behind what the
// client's guard asks: where no client can guard itself.
const BeforeWrite = "before-write"

// BetweenReads is the point between the two reads of a client that writes nothing: there, what a reader relies on can
// change.
const BetweenReads = "between-reads"

// WithinHold is an instant of the time for which a client holds on between its accesses, from the seed and the fault's
// name.
const WithinHold = "within-hold"
