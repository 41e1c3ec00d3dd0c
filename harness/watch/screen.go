package watch

import (
	"cmp"
	"fmt"
	"path"
	"strings"
	"time"

	"locklab/harness/history"
	"locklab/reports/words"
)

// A style is how a piece of a line looks, as the parameter of a terminal's SGR sequence.
type style string

const (
	plain style = ""
	bold  style = "1"
	dim   style = "2"
	alarm style = "1;31" // damage
	quiet style = "32"   // damage that was looked for and not found
	force style = "33"   // faults in force
)

// A piece is a part of a line in one style. Every rune of it is one column wide.
type piece struct {
	text  string
	style style
}

// Screen draws the progress as fewer than height lines of at most width columns, with a line feed between two lines.
// color adds SGR sequences and nothing else.
func (p *Progress) Screen(width, height int, color bool) string {
	if p.Phase == history.PhaseEnsemble {
		return drawn([][]piece{{{cmp.Or(p.Scenario, "run") + "  ", bold}, {p.beginning(), plain}}}, width, color)
	}
	if p.Phase == history.PhaseConnect {
		return drawn([][]piece{p.connecting(width)}, width, color)
	}
	lines := [][]piece{p.head(width), p.rateLine(width), p.latencyLine(), p.clientsLine()}
	tail := [][]piece{p.faultsLine(), p.foundLine()}
	holders := p.holderLines(width)
	if room := max(0, height-1-len(lines)-len(tail)); len(holders) > room {
		holders = holders[:room]
	}
	lines = append(append(lines, holders...), tail...)
	if most := max(1, height-1); len(lines) > most {
		lines = lines[:most]
	}
	return drawn(lines, width, color)
}

// beginning says what happens until the servers are ready for clients.
func (p *Progress) beginning() string {
	if p.External {
		return "joining the ensemble"
	}
	return "starting the servers"
}

func drawn(lines [][]piece, width int, color bool) string {
	var b strings.Builder
	for i, line := range lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		writeLine(&b, line, width, color)
	}
	return b.String()
}

// writeLine writes as much of a line as fits.
func writeLine(b *strings.Builder, line []piece, width int, color bool) {
	for _, s := range line {
		text := []rune(s.text)
		if len(text) > width {
			text = text[:width]
			if width > 0 {
				text[width-1] = '…'
			}
		}
		width -= len(text)
		switch {
		case len(text) == 0:
		case color && s.style != plain:
			fmt.Fprintf(b, "\x1b[%sm%s\x1b[0m", s.style, string(text))
		default:
			b.WriteString(string(text))
		}
	}
}

// labelWidth is the width of the labels that precede the values.
const labelWidth = 10

func label(text string) piece { return piece{fmt.Sprintf("%-*s", labelWidth, text), dim} }

// connecting shows how many clients are connected.
func (p *Progress) connecting(width int) []piece {
	counts := fmt.Sprintf("  %s of %s clients", count(p.Connected), count(p.Clients))
	return p.phaseLine(width, counts, float64(p.Connected), float64(p.Clients))
}

// phaseLine shows the run's name and its phase, a bar of how much of the whole is done if there is room for it, and
// what follows the bar.
func (p *Progress) phaseLine(width int, after string, done, whole float64) []piece {
	const phase = 10
	name := cmp.Or(p.Scenario, "run") + "  "
	line := []piece{{name, bold}, {fmt.Sprintf("%-*s", phase, p.Phase), plain}}
	if bar := width - len([]rune(name+after)) - phase; bar >= 8 && whole > 0 {
		line = append(line, barOf(bar, done/whole)...)
	}
	return append(line, piece{after, plain})
}

// barOf returns a bar that is full up to a part of its columns.
func barOf(columns int, part float64) []piece {
	full := int(float64(columns) * min(1, max(0, part)))
	return []piece{{strings.Repeat("━", full), plain}, {strings.Repeat("─", columns-full), dim}}
}

// head shows the name of the run and how far it is.
func (p *Progress) head(width int) []piece {
	elapsed := max(0, p.Elapsed)
	if p.Planned == 0 {
		return p.phaseLine(width, clock(elapsed), 0, 0)
	}
	times := fmt.Sprintf("  %s, %s left", clock(elapsed), clock(max(0, p.Planned-elapsed)))
	return p.phaseLine(width, times, float64(elapsed), float64(p.Planned))
}

// rateLine shows the rate and as much of its past as fits.
func (p *Progress) rateLine(width int) []piece {
	now := fmt.Sprintf("%8s/s  ", count(int(p.Rate+0.5)))
	total := fmt.Sprintf("  %s acquired", count(p.Acquired))
	top := 0.0
	rates := p.Rates
	if room := max(0, width-labelWidth-len(now)-len(total)); len(rates) > room {
		rates = rates[len(rates)-room:]
	}
	for _, r := range rates {
		top = max(top, r)
	}
	return []piece{label("rate"), {now, bold}, {sparkline(rates, top), plain}, {total, dim}}
}

// sparkline draws values as bars of eight heights. A value of top has the highest bar. A value above zero never looks
// like zero.
func sparkline(values []float64, top float64) string {
	const bars = "▁▂▃▄▅▆▇█"
	runes := []rune(bars)
	var b strings.Builder
	for _, v := range values {
		switch {
		case v <= 0 || top <= 0:
			b.WriteByte(' ')
		default:
			b.WriteRune(runes[min(len(runes)-1, int(v/top*float64(len(runes))))])
		}
	}
	return b.String()
}

// latencyLine shows the latencies of acquisitions.
func (p *Progress) latencyLine() []piece {
	of := func(d time.Duration) string {
		if d == 0 {
			return "-"
		}
		return words.Duration(int64(d))
	}
	return []piece{label("acquire"),
		{fmt.Sprintf("%8s", of(p.P50)), bold}, {" p50  ", dim},
		{fmt.Sprintf("%8s", of(p.P99)), bold}, {" p99  of the last second", dim}}
}

// clientsLine shows how many clients wait and hold.
func (p *Progress) clientsLine() []piece {
	line := []piece{label("clients"), {fmt.Sprintf("%8s", count(p.Clients)), bold},
		{fmt.Sprintf(", %s waiting", count(p.Waiting)), plain}}
	if p.Waiting > 0 {
		line = append(line, piece{" (longest " + words.Duration(int64(p.LongestWait)) + ")", dim})
	}
	line = append(line, piece{", " + count(p.Holding) + " holding", plain})
	if p.Locks > 1 {
		line = append(line, piece{fmt.Sprintf("; %s locks", count(p.Locks)), dim})
	}
	return line
}

// holderLines names the holders, with a line for each lock.
func (p *Progress) holderLines(width int) [][]piece {
	var lines [][]piece
	for i := 0; i < len(p.Holders); {
		lock := p.Holders[i].Lock
		end := i
		var names []string
		exclusive := 0
		for ; end < len(p.Holders) && p.Holders[end].Lock == lock; end++ {
			h := p.Holders[end]
			if history.Exclusive(h.Mode) {
				exclusive++
			}
			mode := ""
			if h.Mode != history.ModeExclusive {
				mode = " " + string(h.Mode)
			}
			names = append(names, h.Client+mode+" for "+words.Duration(int64(h.For)))
		}
		look := plain
		if exclusive > 1 || exclusive == 1 && end-i > 1 {
			look = alarm
		}
		for len(names) > 1 && labelWidth+3+len(strings.Join(names, ", ")) > width {
			names = append(names[:len(names)-2], "…")
		}
		lines = append(lines, []piece{label(path.Base(lock)), {"held by " + strings.Join(names, ", "), look}})
		i = end
	}
	return lines
}

func (p *Progress) faultsLine() []piece {
	if len(p.Faults) == 0 {
		return []piece{label("faults"), {"none in force", dim}}
	}
	return []piece{label("faults"), {strings.Join(p.Faults, "; "), force}}
}

// foundLine shows the damage that was seen so far.
func (p *Progress) foundLine() []piece {
	line := []piece{label("found")}
	for i, f := range []struct {
		n     int
		what  string
		harms bool
	}{
		{p.Overlaps, "overlaps", true}, {p.Stale, "stale accepted", true},
		{p.Lost, "lost", true}, {p.Refused, "refused", false},
	} {
		text, look := count(f.n)+" "+f.what, quiet
		switch {
		case f.n < 0:
			text, look = "- "+f.what, dim
		case f.n > 0 && f.harms:
			look = alarm
		case f.n > 0:
			look = plain
		}
		if i > 0 {
			line = append(line, piece{"   ", plain})
		}
		line = append(line, piece{text, look})
	}
	return line
}

// clock writes a time to a tenth of a second, and from a minute on to a second.
func clock(d time.Duration) string {
	if d >= time.Minute {
		return d.Round(time.Second).String()
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

// count writes a number with commas.
func count(n int) string { return words.Grouped(int64(n)) }
