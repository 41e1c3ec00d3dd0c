package advice

import (
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"locklab/harness/scenario"
	"locklab/harness/untrusted"
	"locklab/reports/words"
)

// howToLog is how to get a log that can be read.
const howToLog = "a log of Java 9 or later, by -Xlog:gc,safepoint:file=gc.log:uptime,level,tags"

// The lines of a JVM's unified log that tell pauses, without their decorations. HotSpot prints the first kind since
// Java 13 and the second before. All times at a safepoint count: how long the threads took to stop, too. Some locales
// write a comma for the decimal point.
var (
	safepointLine = regexp.MustCompile(
		`^Safepoint "[^"]*", Time since last: (\d{1,18}) ns, [^"]*\bTotal: +(\d{1,18}) ns(?:, Threads: [^:"]*)?$`)
	stoppedLine = regexp.MustCompile(`^Total time for which application threads were stopped: ` +
		`(\d{1,9}[.,]\d{1,9}) seconds(?:, Stopping threads took: \d+[.,]\d+ seconds)?$`)
	ranLine = regexp.MustCompile(`^Application time: (\d{1,9}[.,]\d{1,9}) seconds$`)
	gcLine  = regexp.MustCompile(`^GC\((\d{1,9})\) (?:[yYoO]: )?Pause (\w+)[^\[]* (\d{1,9}[.,]\d{1,6})ms$`)
)

// pauseWords are what lines have that tell pauses, whole ones or damaged ones. The beginning of a pause has a line of
// its own in some logs, without a length.
var pauseWords = regexp.MustCompile(`Safepoint "|At safepoint: |application threads were stopped|` +
	`GC\(\d+\) (?:[yYoO]: )?Pause .*(?:->|\d ?(?:ms|us|ns|s|sec|secs|seconds)$)`)

// looksLikePause reports whether a line tells a pause. Most lines do not have to be looked at twice.
func looksLikePause(text string) bool {
	return (strings.Contains(text, "afepoint") || strings.Contains(text, "Pause") || strings.Contains(text, "stopped")) &&
		pauseWords.MatchString(text)
}

// Other lines that matter.
var (
	droppedLine = regexp.MustCompile(`^(\d{1,9}) messages dropped due to async logging`)
	zgcLine     = regexp.MustCompile(`^Using The Z Garbage Collector|^GC\(\d+\) (Garbage|Minor|Major) Collection\b`)
	stallLine   = regexp.MustCompile(`^(?:GC\(\d+\) )?(?:[yYoO]: )?Allocation Stall \(.*\) (\d{1,9}[.,]\d{1,6})ms$`)
	statsLine   = regexp.MustCompile(`^\s*(?i:VM ?op(?:eration)?) +\[ ?threads:`)
)

// foreignLines are the lines of logs that are no unified logs of HotSpot.
var foreignLines = []struct {
	line *regexp.Regexp
	what string
}{
	{regexp.MustCompile(`^(\d{4}-\S+: )?(\d+[.,]\d+: )?\[(Full )?GC\b|` +
		`^(\d{4}-\S+: (\d+[.,]\d+: )?|\d+[.,]\d+: )(\[|Total time for which|Application time)|` +
		`^(OpenJDK|Java HotSpot).* JRE \(1\.[0-8]\.|^CommandLine flags: |^\{Heap before GC invocations`),
		"the log is of a Java before 9"},
	{regexp.MustCompile(`^<(\?xml|verbosegc)\b`), "the log is XML, as OpenJ9 writes it"},
}

// A gcLog is what the files of one log tell. Pauses are its safepoints, which include those of the garbage collector;
// in a log without safepoints, they are the garbage collector's.
type gcLog struct {
	safepoints, collections told
	processes               map[string]*gcProcess
	order                   []*gcProcess
	since                   time.Duration // by the safepoints themselves
	dropped                 int64
	stalls                  told // of single threads
	jvm, zgc, stats         bool
	cut                     []string // files whose last line is cut short
}

// told are pauses, with the place of the longest.
type told struct {
	lengths []Length
	longest time.Duration
	at      place
}

func (t *told) add(length time.Duration, at place) {
	t.lengths = append(t.lengths, Length{length, 1})
	if length >= t.longest {
		t.longest, t.at = length, at
	}
}

// readGCLog reads a unified log of one file.
func readGCLog(in *lines) (Pauses, error) {
	g := newGCLog()
	if err := g.read(in); err != nil {
		return Pauses{}, err
	}
	return g.pauses(in.file)
}

func newGCLog() *gcLog { return &gcLog{processes: map[string]*gcProcess{}} }

// read reads a file of the log. A line that looks like a pause and cannot be read is an error, unless it is the file's
// last and has no end, because it is still being written.
func (g *gcLog) read(in *lines) error {
	for _, p := range g.order {
		p.begun, p.ran = false, 0
	}
	for {
		line, err := in.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if strings.ContainsRune(line, 0) {
			return in.bad("this is not a text file", howToLog)
		}
		for _, f := range foreignLines {
			if f.line.MatchString(line) {
				return in.bad(f.what, howToLog)
			}
		}
		switch err := g.line(line, in); {
		case errors.Is(err, errUnreadable) && in.ended:
			return in.bad(err.Error(), "a pause is a line of its own, with nothing but the JVM's decorations before it and "+
				"nothing after it: give "+howToLog)
		case errors.Is(err, errUnreadable):
			g.cut = append(g.cut, in.file)
		case err != nil:
			return err
		}
	}
}

// errUnreadable says that a line tells a pause, but not how long it was.
var errUnreadable = errors.New("the line looks like a pause and cannot be read")

func (g *gcLog) line(line string, in *lines) error {
	decorations, text := undecorated(line)
	p := g.process(processOf(decorations))
	at, timed, err := p.see(decorations, text, in)
	if err != nil {
		return err
	}
	if m := safepointLine.FindStringSubmatch(text); m != nil {
		length := nanoseconds(m[2])
		return g.safepoint(p, at, timed, nanoseconds(m[1])+length, length, in)
	}
	if m := stoppedLine.FindStringSubmatch(text); m != nil {
		length, ran := scaled(m[1], time.Second), p.ran
		p.ran = 0
		if ran == 0 {
			g.safepoints.add(length, in.place())
			if timed {
				s := p.current()
				s.safepoint, s.seen = at, true
			}
			return p.paused(at, timed, length, in)
		}
		return g.safepoint(p, at, timed, ran+length, length, in)
	}
	if m := ranLine.FindStringSubmatch(text); m != nil {
		p.ran = scaled(m[1], time.Second)
		return nil
	}
	if m := gcLine.FindStringSubmatch(text); m != nil {
		length := scaled(m[3], time.Millisecond)
		g.collections.add(length, in.place())
		if err := p.collected(m[2], m[1], at, timed, in); err != nil {
			return err
		}
		return p.paused(at, timed, length, in)
	}
	if looksLikePause(text) {
		return errUnreadable
	}
	if m := droppedLine.FindStringSubmatch(text); m != nil {
		g.dropped += int64(nanoseconds(m[1]))
	}
	if m := stallLine.FindStringSubmatch(text); m != nil {
		g.stalls.add(scaled(m[1], time.Millisecond), in.place())
	}
	g.jvm = g.jvm || startLine.MatchString(text)
	g.zgc = g.zgc || zgcLine.MatchString(text)
	g.stats = g.stats || statsLine.MatchString(text)
	return nil
}

// safepoint takes note of a safepoint that says how much time has passed since the end of the one before.
func (g *gcLog) safepoint(p *gcProcess, at time.Duration, timed bool, passed, length time.Duration, in *lines) error {
	g.safepoints.add(length, in.place())
	if g.since += passed; g.since < 0 {
		return in.bad("the times since the last safepoints add up to more than 292 years", howToLog)
	}
	if err := p.paused(at, timed, length, in); err != nil || !timed {
		return err
	}
	return p.claimed(at, passed, in)
}

func (g *gcLog) process(name string) *gcProcess {
	p := g.processes[name]
	if p == nil {
		p = &gcProcess{name: name}
		g.processes[name], g.order = p, append(g.order, p)
	}
	return p
}

// pauses returns what the files that were read tell together.
func (g *gcLog) pauses(source string) (Pauses, error) {
	first := place{source, 1}
	of := g.safepoints
	p := Pauses{Source: source, What: "safepoints"}
	shown := untrusted.Line(source)
	if len(of.lengths) == 0 {
		of, p.What = g.collections, "pauses of the garbage collector"
		p.Notes = append(p.Notes, shown+" has no safepoints, so pauses that are not the garbage collector's are missing; "+
			"-Xlog:gc,safepoint has them")
	}
	if len(of.lengths) == 0 {
		return Pauses{}, g.nothing(first)
	}
	p.Lengths, p.at = of.lengths, of.at
	for _, file := range g.cut {
		p.Notes = append(p.Notes, untrusted.Line(file)+": the last line is cut short and was left out")
	}
	if g.dropped > 0 {
		p.Notes = append(p.Notes, fmt.Sprintf("%s: the JVM dropped %s (async logging), so pauses may be missing, long ones "+
			"too; a larger -XX:AsyncLogBufferSize keeps them", shown, words.Count(g.dropped, "message")))
	}
	if n := len(g.stalls.lengths); n > 0 {
		p.Notes = append(p.Notes, fmt.Sprintf("%s: ZGC stalled single threads %s, for up to %s; these stalls were not "+
			"counted, but a thread that talks to ZooKeeper may lose its session in one", shown,
			words.Count(int64(n), "time"), spanText(g.stalls.longest)))
	}
	var timed []string
	for _, process := range g.order {
		span, notes, err := process.covered(g.dropped > 0)
		if err != nil {
			return Pauses{}, err
		}
		if span > 0 {
			timed = append(timed, process.name)
		}
		p.Span += span
		for _, note := range notes {
			p.Notes = append(p.Notes, shown+": "+note)
		}
	}
	if len(timed) > 1 {
		p.Notes = append(p.Notes, fmt.Sprintf("%s has the lines of %d processes (%s), whose times and pauses were added up",
			shown, len(timed), untrusted.Line(listed(timed))))
	}
	switch {
	case p.Span <= 0 && g.since > 0:
		p.Span = g.since
		p.Notes = append(p.Notes, shown+" has no times, so the times between its safepoints were added up")
	case p.Span <= 0:
		return Pauses{}, first.bad("the log does not tell how much time it covers",
			"its lines need the decoration uptime or time: -Xlog:gc,safepoint:file=gc.log:uptime,level,tags")
	}
	return p, nil
}

// knowsWhy reports whether a log without pauses is a GC log nevertheless.
func (g *gcLog) knowsWhy() bool { return g.jvm || g.zgc || g.stats || g.dropped > 0 }

// nothing says why a log tells no pauses.
func (g *gcLog) nothing(at place) error {
	switch {
	case g.zgc:
		return at.bad("the log of ZGC has no pauses, because -Xlog:gc alone does not log them",
			"give the JVM -Xlog:gc,safepoint:file=gc.log:uptime,level,tags")
	case g.stats:
		return at.bad("the log has the safepoints' statistics and not the safepoints, because -Xlog:safepoint+stats "+
			"does not log them", "give the JVM -Xlog:gc,safepoint:file=gc.log:uptime,level,tags")
	case g.dropped > 0:
		return at.bad("the log has no pauses, and the JVM dropped messages (async logging)",
			"a larger -XX:AsyncLogBufferSize keeps them")
	case g.jvm:
		return at.bad("the JVM logged no pause: it ran too shortly, or its -Xlog has neither gc nor safepoint",
			"give the JVM -Xlog:gc,safepoint:file=gc.log:uptime,level,tags")
	}
	return at.bad("this is no GC log: not one line tells a pause", howToLog)
}

// listed returns the first few names.
func listed(names []string) string {
	const most = 4
	if len(names) > most {
		return strings.Join(names[:most], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}

// A place is a line of a file.
type place struct {
	file string
	line int
}

func (p place) bad(msg, hint string) error {
	return &scenario.InputError{File: untrusted.Line(p.file), Line: max(p.line, 1), Column: 1, Msg: msg, Hint: hint}
}

// nanoseconds reads digits that a pattern has matched; they fit.
func nanoseconds(digits string) time.Duration {
	n, _ := strconv.ParseInt(digits, 10, 64)
	return time.Duration(n)
}

// undecorated splits a line into its decorations, which are in brackets, and its text. Tools that collect logs put
// another decoration before them, with a space.
func undecorated(line string) (decorations []string, text string) {
	for strings.HasPrefix(line, "[") {
		d, rest, found := strings.Cut(line[1:], "]")
		if !found {
			break
		}
		if strings.Contains(d, "/") && len(decorations) == 0 {
			rest = strings.TrimLeft(rest, " ")
		}
		decorations, line = append(decorations, strings.TrimSpace(d)), rest
	}
	return decorations, strings.TrimSpace(line)
}

var (
	levels = map[string]bool{"error": true, "warning": true, "info": true, "debug": true, "trace": true}
	number = regexp.MustCompile(`^\d+$`)
)

// processOf returns the name of the process that wrote a line, by the decorations: what a collector of logs wrote
// before them (kubectl logs --prefix writes [pod/NAME/CONTAINER]), the host before the level, and the pid. A single
// number may be a thread, so only the first of two is a pid. The name is empty if there are none of them.
func processOf(decorations []string) string {
	var names, numbers []string
	level := slices.IndexFunc(decorations, func(d string) bool { return levels[d] })
	for i, d := range decorations {
		switch {
		case i == 0 && strings.Contains(d, "/"):
			names = append(names, d)
		case number.MatchString(d):
			numbers = append(numbers, d)
		case i < level && d != "" && (d[0] < '0' || d[0] > '9'): // times begin with a digit
			names = append(names, d)
		}
	}
	if len(numbers) > 1 {
		names = append(names, "pid "+numbers[0])
	}
	return strings.Join(names, " ")
}

// clocks read a decoration of each kind: uptime, uptimemillis and timemillis, uptimenanos and timenanos, time and
// utctime. A log may have several; the first kind that its first line has counts.
var clocks = []func(decoration string) (time.Duration, bool){
	clockOf(regexp.MustCompile(`^(\d{1,9}[.,]\d{1,9})s$`), time.Second),
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

// A logClock reads the decorations that tell times.
type logClock struct {
	kind int // the kind of decoration that is read, an index of clocks plus 1; 0 = none yet
}

// read returns the time of a line; false if the line has none.
func (c *logClock) read(decorations []string) (time.Duration, bool) {
	for i, read := range clocks {
		if c.kind != 0 && c.kind != i+1 {
			continue
		}
		for _, d := range decorations {
			if at, ok := read(d); ok {
				c.kind = i + 1
				return at, true
			}
		}
	}
	return 0, false
}

// scaled reads a decimal number that a pattern has matched, in a unit. Times that do not fit are cut to the longest.
func scaled(number string, unit time.Duration) time.Duration {
	v, _ := strconv.ParseFloat(strings.Replace(number, ",", ".", 1), 64)
	if v *= float64(unit); v < math.MaxInt64 {
		return time.Duration(math.Round(v))
	}
	return math.MaxInt64
}
