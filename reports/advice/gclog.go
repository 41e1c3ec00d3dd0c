package advice

import (
	"errors"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// howToLog is how to get a log that can be read.
const howToLog = "a log of Java 9 or later, by -Xlog:gc,safepoint:file=gc.log:uptime,level,tags"

// The lines of a JVM's unified log that tell pauses, without their decorations. HotSpot prints the first kind since
// Java 13 and the second before. All times at a safepoint count: how long the threads took to stop, too.
var (
	safepointLine = regexp.MustCompile(
		`^Safepoint "[^"]*", Time since last: (\d{1,18}) ns, .*Total: +(\d{1,18}) ns$`)
	stoppedLine = regexp.MustCompile(
		`^Total time for which application threads were stopped: (\d{1,9}\.\d{1,9}) seconds\b`)
	gcLine = regexp.MustCompile(`^GC\(\d+\) (?:[yYoO]: )?Pause .* (\d{1,9}\.\d{1,6})ms$`)
)

// oldLine is of a log before Java 9, which is not decorated.
var oldLine = regexp.MustCompile(`^(\d{4}-\S+: )?(\d+\.\d+: )?\[(Full )?GC\b`)

// readGCLog reads a unified log. Pauses are its safepoints, which include those of the garbage collector; in a log
// without safepoints, they are the garbage collector's. The log covers the time from its first line to its last. Times
// that fall begin a new part, because the process was started again.
func readGCLog(in *lines) (Pauses, error) {
	var (
		safepoints, collections []Length
		clock                   logClock
		since                   time.Duration // by the safepoints themselves
		cut                     error         // the last line, if it cannot be read
	)
	for {
		line, err := in.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Pauses{}, err
		}
		if cut != nil {
			return Pauses{}, cut
		}
		if strings.ContainsRune(line, 0) {
			return Pauses{}, in.bad("this is not a text file", howToLog)
		}
		if oldLine.MatchString(line) {
			return Pauses{}, in.bad("the log is of a Java before 9", howToLog)
		}
		decorations, text := undecorated(line)
		clock.see(decorations)
		switch m := safepointLine.FindStringSubmatch(text); {
		case m != nil:
			length := nanoseconds(m[2])
			safepoints = append(safepoints, Length{length, 1})
			since += nanoseconds(m[1]) + length
		case strings.HasPrefix(text, "Safepoint \""), strings.HasPrefix(text, "Total time for which"):
			if m := stoppedLine.FindStringSubmatch(text); m != nil {
				safepoints = append(safepoints, Length{scaled(m[1], time.Second), 1})
				continue
			}
			cut = in.bad("a safepoint's line that cannot be read", howToLog)
		default:
			if m := gcLine.FindStringSubmatch(text); m != nil {
				collections = append(collections, Length{scaled(m[1], time.Millisecond), 1})
			}
		}
	}
	p := Pauses{Source: in.file, What: "safepoints", Lengths: safepoints, Span: clock.covered()}
	if len(safepoints) == 0 {
		p.What, p.Lengths = "pauses of the garbage collector", collections
		p.Notes = append(p.Notes, in.file+" has no safepoints, so pauses that are not the garbage collector's are missing; "+
			"-Xlog:gc,safepoint has them")
	}
	if cut != nil {
		p.Notes = append(p.Notes, in.file+": the last line is cut short and was left out")
	}
	switch {
	case len(p.Lengths) == 0:
		in.n = 1
		return Pauses{}, in.bad("this is no GC log: not one line tells a pause", howToLog)
	case p.Span <= 0 && since > 0:
		p.Span = since
		p.Notes = append(p.Notes, in.file+" has no times, so the times between its safepoints were added up")
	case p.Span <= 0:
		in.n = 1
		return Pauses{}, in.bad("the log does not tell how much time it covers",
			"its lines need the decoration uptime or time: -Xlog:gc,safepoint:file=gc.log:uptime,level,tags")
	}
	return p, nil
}

// undecorated splits a line into its decorations, which are in brackets, and its text.
func undecorated(line string) (decorations []string, text string) {
	for strings.HasPrefix(line, "[") {
		d, rest, found := strings.Cut(line[1:], "]")
		if !found {
			break
		}
		decorations, line = append(decorations, strings.TrimSpace(d)), rest
	}
	return decorations, strings.TrimSpace(line)
}

// A logClock reads the decorations that tell times.
type logClock struct {
	kind        int // the kind of decoration that is read, an index of clocks plus 1; 0 = none yet
	first, last time.Duration
	earlier     time.Duration // what the parts before this one cover
}

// clocks read a decoration of each kind: uptime, uptimemillis and timemillis, uptimenanos and timenanos, time and
// utctime. A log may have several; the first kind that its first line has counts.
var clocks = []func(decoration string) (time.Duration, bool){
	clockOf(regexp.MustCompile(`^(\d{1,9}\.\d{1,9})s$`), time.Second),
	clockOf(regexp.MustCompile(`^(\d{1,13})ms$`), time.Millisecond),
	clockOf(regexp.MustCompile(`^(\d{1,18})ns$`), time.Nanosecond),
	func(decoration string) (time.Duration, bool) {
		at, err := time.Parse("2006-01-02T15:04:05.000-0700", decoration)
		return time.Duration(at.UnixMilli()) * time.Millisecond, err == nil && at.Year() >= 1970 && at.Year() < 2200
	},
}

func clockOf(pattern *regexp.Regexp, unit time.Duration) func(string) (time.Duration, bool) {
	return func(decoration string) (time.Duration, bool) {
		m := pattern.FindStringSubmatch(decoration)
		if m == nil {
			return 0, false
		}
		return scaled(m[1], unit), true
	}
}

// see takes note of a line's time.
func (c *logClock) see(decorations []string) {
	for i, read := range clocks {
		if c.kind != 0 && c.kind != i+1 {
			continue
		}
		for _, d := range decorations {
			at, ok := read(d)
			if !ok {
				continue
			}
			if c.kind == 0 {
				c.kind, c.first, c.last = i+1, at, at
			}
			if at < c.last {
				c.earlier += c.last - c.first
				c.first = at
			}
			c.last = at
			return
		}
	}
}

// covered returns how much time the lines cover.
func (c *logClock) covered() time.Duration { return c.earlier + c.last - c.first }

// nanoseconds reads digits that a pattern has matched; they fit.
func nanoseconds(digits string) time.Duration {
	n, _ := strconv.ParseInt(digits, 10, 64)
	return time.Duration(n)
}

// scaled reads a decimal number that a pattern has matched, in a unit. Times that do not fit are cut to the longest.
func scaled(number string, unit time.Duration) time.Duration {
	v, _ := strconv.ParseFloat(number, 64)
	if v *= float64(unit); v < math.MaxInt64 {
		return time.Duration(math.Round(v))
	}
	return math.MaxInt64
}
