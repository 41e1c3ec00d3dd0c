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
	// CommandStop ends the work now, as if the window had closed, and cancels waiters.
	CommandStop = "stop"
	// commandArm arms a trigger: arm FAULT POINT. The next client that comes to
	// that point stops the whole process.
	CommandArm = "arm"
	// CommandDisarm takes it back: disarm FAULT.
	CommandDisarm = "disarm"
)

// FormatGo writes the command that starts the work.
func FormatGo(start, end int64) string { return fmt.Sprintf("%s %d %d", CommandGo, start, end) }

// FormatArm writes the command that arms a trigger.
func FormatArm(fault, point string) string { return CommandArm + " " + fault + " " + point }

// FormatDisarm writes the command that takes a trigger back.
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
		case words[0] == CommandStop:
			p.stop()
		case words[0] == CommandArm && len(words) == 3:
			p.triggers.arm(words[1], words[2])
		case words[0] == CommandDisarm && len(words) == 2:
			p.triggers.disarm(words[1])
		default:
			return fmt.Errorf("unknown command %q", in.Text())
		}
	}
	return in.Err()
}
