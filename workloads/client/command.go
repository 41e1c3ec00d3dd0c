package client

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

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
	// commandArm arms a trigger: arm FAULT POINT. The next client that comes to
	// that point stops the whole process.
	CommandArm = "arm"
	// With a third word it does something else to itself there: arm FAULT POINT expire|move.
	// CommandDisarm takes it back: disarm FAULT.
	CommandDisarm = "disarm"
	// commandStrike does it at once, to the session of a client: strike FAULT expire|move CLIENT.
	commandStrike = "strike"
	// commandSettle takes a move back: settle FAULT.
	commandSettle = "settle"
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
	return commandStrike + " " + fault + " " + action + " " + client
}

// FormatSettle writes the command that lets clients back to the server that a move drove them from, and
// disarms the move if it has not been made yet.
func FormatSettle(fault string) string { return commandSettle + " " + fault }

// FormatDisarm writes the command that disarms a trigger.
func FormatDisarm(fault string) string { return CommandDisarm + " " + fault }

// commands carries out the lines of r until it ends.
func (p *process) commands(r io.Reader) error {
	in := bufio.NewScanner(r)
	for in.Scan() {
		words := strings.Fields(in.Text())
		if len(words) == 0 {
			continue
		}
		switch {
		case words[0] == CommandGo && len(words) == 3:
			var w window
			if _, err := fmt.Sscan(words[1]+" "+words[2], &w.start, &w.end); err != nil {
				return fmt.Errorf("command %q: %w", in.Text(), err)
			}
			select {
			case p.window <- w:
			default:
				return fmt.Errorf("command %q: the work has been started before", in.Text())
			}
		case words[0] == CommandUntil && len(words) == 2:
			var end int64
			if _, err := fmt.Sscan(words[1], &end); err != nil {
				return fmt.Errorf("command %q: %w", in.Text(), err)
			}
			select {
			case p.until <- end:
			default:
				return fmt.Errorf("command %q: the window's end has been told before", in.Text())
			}
		case words[0] == CommandStop:
			p.stop()
		case words[0] == CommandFinal:
			p.askFinal()
		case words[0] == CommandArm && (len(words) == 3 || len(words) == 4):
			if err := p.triggers.arm(words[1], words[2], append(words, StrikeStop)[3]); err != nil {
				return fmt.Errorf("command %q: %w", in.Text(), err)
			}
		case words[0] == commandStrike && len(words) == 4:
			if err := p.strikeNow(words[2], words[1], words[3]); err != nil {
				return fmt.Errorf("command %q: %w", in.Text(), err)
			}
		case words[0] == commandSettle && len(words) == 2:
			p.triggers.disarm(words[1])
			if err := p.settle(words[1]); err != nil {
				return fmt.Errorf("command %q: %w", in.Text(), err)
			}
		case words[0] == CommandDisarm && len(words) == 2:
			p.triggers.disarm(words[1])
		default:
			return fmt.Errorf("unknown command %q", in.Text())
		}
	}
	return in.Err()
}
