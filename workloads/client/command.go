package client

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"locklab/workloads/control"
)

// commands carries out the lines of r until it ends.
func (p *process) commands(r io.Reader) error {
	in := bufio.NewScanner(r)
	for in.Scan() {
		words := strings.Fields(in.Text())
		if len(words) == 0 {
			continue
		}
		switch {
		case words[0] == control.CommandGo && len(words) == 3:
			var w window
			if _, err := fmt.Sscan(words[1]+" "+words[2], &w.start, &w.end); err != nil {
				return fmt.Errorf("command %q: %w", in.Text(), err)
			}
			select {
			case p.window <- w:
			default:
				return fmt.Errorf("command %q: the work has been started before", in.Text())
			}
		case words[0] == control.CommandUntil && len(words) == 2:
			var end int64
			if _, err := fmt.Sscan(words[1], &end); err != nil {
				return fmt.Errorf("command %q: %w", in.Text(), err)
			}
			select {
			case p.until <- end:
			default:
				return fmt.Errorf("command %q: the window's end has been told before", in.Text())
			}
		case words[0] == control.CommandStop:
			p.stop()
		case words[0] == control.CommandFinal:
			p.askFinal()
		case words[0] == control.CommandArm && (len(words) == 3 || len(words) == 4):
			if err := p.triggers.arm(words[1], words[2], append(words, control.StrikeStop)[3]); err != nil {
				return fmt.Errorf("command %q: %w", in.Text(), err)
			}
		case words[0] == control.CommandStrike && len(words) == 4:
			if err := p.strikeNow(words[2], words[1], words[3]); err != nil {
				return fmt.Errorf("command %q: %w", in.Text(), err)
			}
		case words[0] == control.CommandSettle && len(words) == 2:
			p.triggers.disarm(words[1])
			if err := p.settle(words[1]); err != nil {
				return fmt.Errorf("command %q: %w", in.Text(), err)
			}
		case words[0] == control.CommandDisarm && len(words) == 2:
			p.triggers.disarm(words[1])
		default:
			return fmt.Errorf("unknown command %q", in.Text())
		}
	}
	return in.Err()
}
