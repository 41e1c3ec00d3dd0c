package advice

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"

	"locklab/reports/words"
)

// slack is how far the times of two lines may be wrong. Threads write in an order that is not quite that of their
// times, and a machine may keep a thread waiting before it writes.
const slack = time.Second

// longestRun is longer than any JVM has run that writes unified logs, which there are since 2017.
const longestRun = 20 * Year

// oneProcess is what to do with a log whose times contradict one another.
const oneProcess = "the lines of several processes are mixed, or lines are missing: give the whole log of each " +
	"process by a --pauses of its own, or log with the decoration pid,tid"

// A gcProcess is what a log tells of one process. Its lines are stretches whose times rise. A new one begins where the
// JVM was started again, where the next file of the log begins, and where another file was appended.
type gcProcess struct {
	name      string // empty if the log does not name it
	clock     logClock
	stretches []stretch
	begun     bool          // the last stretch is of this file
	ran       time.Duration // since the last safepoint, by the line before this one

	// Of all safepoints but the first of each stretch: the time since the one before, by the safepoints themselves and
	// by the times of their lines, and what the second is above the first where lines are missing.
	told, passed, missing time.Duration
	gaps                  int64
	worst                 disagreement
}

// A disagreement is a safepoint whose line has another time than it says itself.
type disagreement struct {
	at           place
	told, passed time.Duration
}

// A stretch is the lines between two times.
type stretch struct {
	begin, first, last time.Duration // begin is that of the first pause, if it began before the first line
	at                 place
	kind               int
	started            bool           // the JVM was started at its beginning
	fileBegins         bool           // it is the first of its file
	safepoint          time.Duration  // the last one
	seen               bool           // there is one
	told               bool           // the first one says since when there was none before it
	ids                map[string]int // of the last garbage collection of each kind
}

// startLine is among the first lines that a JVM writes.
var startLine = regexp.MustCompile(`^(Using (G1|Serial|Parallel|Shenandoah|Epsilon|Concurrent Mark Sweep|` +
	`The Z Garbage Collector)|Version: .*\(\w+\)|Heap region size: \S+|Initializing The Z Garbage Collector|` +
	`CardTable entry size: \d+|Min heap equals to max heap, .*)$`)

// starting is how long the JVM may take to write its first lines.
const starting = 10 * time.Second

// see takes note of the time of a line; false if it has none.
func (p *gcProcess) see(decorations []string, text string, in *lines) (time.Duration, bool, error) {
	known := p.clock.kind != 0
	at, ok := p.clock.read(decorations)
	if !ok {
		if known && looksLikePause(text) {
			return 0, false, in.bad("the line looks like a pause and has no time as other lines do", howToLog)
		}
		return 0, false, nil
	}
	starts := startLine.MatchString(text)
	if s := p.current(); s != nil {
		starts = starts && !(s.started && at-s.first < starting && at >= s.first)
		if !starts && at >= s.last-slack {
			s.last = max(s.last, at)
			return at, true, nil
		}
	}
	p.stretch(at, starts, in)
	return at, true, nil
}

// current returns the stretch that the file is in; nil before its first line.
func (p *gcProcess) current() *stretch {
	if !p.begun {
		return nil
	}
	return &p.stretches[len(p.stretches)-1]
}

func (p *gcProcess) stretch(at time.Duration, starts bool, in *lines) {
	p.stretches = append(p.stretches, stretch{
		begin: at, first: at, last: at, at: in.place(), kind: p.clock.kind, started: starts || at < slack,
		fileBegins: !p.begun, ids: map[string]int{},
	})
	p.begun = true
}

// paused takes note of a pause that ended at a time.
func (p *gcProcess) paused(at time.Duration, timed bool, length time.Duration, in *lines) error {
	if !timed {
		return nil
	}
	if length > at+slack {
		return in.bad(fmt.Sprintf("a pause of %s is impossible %s after the JVM's start", spanText(length), spanText(at)),
			oneProcess)
	}
	s := p.current()
	s.begin = min(s.begin, max(0, at-length))
	return nil
}

// claimed takes note of a safepoint that ended at a time, and of the time that has passed since the one before as it
// says itself. The first safepoint of a process counts from the JVM's start.
func (p *gcProcess) claimed(at, told time.Duration, in *lines) error {
	s := p.current()
	before, known := s.safepoint, s.seen
	s.safepoint, s.seen = at, true
	if !known {
		s.told = true
		begin := at - told
		if begin < -slack {
			return in.bad(fmt.Sprintf("the line says that %s have passed since the safepoint before, and its time is %s "+
				"after the JVM's start", spanText(told), spanText(at)), oneProcess)
		}
		s.started = s.started || begin < slack
		s.begin = min(s.begin, max(0, begin))
		if s.started || begin <= s.first+slack {
			return nil
		}
		before = s.first
	}
	passed := at - before
	p.told += told
	p.passed += passed
	if passed > told+slack {
		p.missing += passed - told
		p.gaps++
	}
	if (passed - told).Abs() > (p.worst.passed - p.worst.told).Abs() {
		p.worst = disagreement{in.place(), told, passed}
	}
	return nil
}

// collected takes note of the number of a garbage collection. They rise from 0, but for a collection within another
// one.
func (p *gcProcess) collected(kind, digits string, at time.Duration, timed bool, in *lines) error {
	if kind != "Young" && kind != "Full" || !timed {
		return nil
	}
	id, _ := strconv.Atoi(digits)
	s := p.current()
	last, known := s.ids[kind]
	switch {
	case !known:
		s.started = s.started || id == 0
	case id != last && id >= last-2:
	case id == 0:
		p.stretch(at, true, in)
		s = p.current()
	default:
		return in.bad(fmt.Sprintf("garbage collection %d is after number %d", id, last), oneProcess)
	}
	s.ids[kind] = id
	return nil
}

// covered returns how much time the lines cover. Where the log does not say whose its lines are, they must be those of
// one process at a time.
func (p *gcProcess) covered(dropped bool) (time.Duration, []string, error) {
	apart := (p.passed - p.told).Abs()
	if off := slack + max(p.passed, p.told)/10; apart > off && !(dropped && p.passed > p.told) {
		return 0, nil, p.worst.at.bad(fmt.Sprintf("the line says that %s have passed since the safepoint before, and the "+
			"times of the two lines are %s apart; all lines together say %s, and their times %s", spanText(p.worst.told),
			spanText(p.worst.passed), spanText(p.told), spanText(p.passed)), oneProcess)
	}
	var notes []string
	span := time.Duration(0)
	if p.gaps > 0 && !dropped {
		span -= p.missing
		notes = append(notes, fmt.Sprintf("lines are missing at %s, where the times of safepoints are later than they say; "+
			"%s were not counted as watched", words.Count(p.gaps, "place"), spanText(p.missing)))
	}
	slices.SortStableFunc(p.stretches, func(a, b stretch) int { return cmp.Compare(a.first, b.first) })
	var whole []stretch // of one start of the JVM each
	for _, s := range p.stretches {
		before := continued(whole, s)
		switch {
		case before == nil && !s.started && slices.ContainsFunc(whole, s.mixed):
			return 0, nil, s.at.bad("the times of the lines go back, and the JVM was not started there", oneProcess)
		case before == nil:
			whole = append(whole, s)
		case s.told && s.begin > before.last+slack:
			notes = append(notes, fmt.Sprintf("a file is missing, or lines are, before %s:%d", s.at.file, s.at.line))
			whole = append(whole, s)
		default:
			before.last = max(before.last, s.last)
		}
	}
	for _, s := range whole {
		if s.last-s.begin > longestRun {
			return 0, nil, s.at.bad(fmt.Sprintf("the lines cover %s, which is longer than a JVM can have run",
				spanText(s.last-s.begin)), oneProcess)
		}
		span += s.last - s.begin
	}
	return span, notes, nil
}

// mixed reports whether the file goes back in time between this stretch and another one although the JVM was not
// started there. The first stretch of a file may be of an earlier start.
func (s stretch) mixed(o stretch) bool { return !s.fileBegins || o.at.file == s.at.file && !o.started }

// continued returns the stretch after which the lines go on in another one; nil if there is none. Of several, it is the
// last one.
func continued(all []stretch, next stretch) (before *stretch) {
	if next.started {
		return nil
	}
	for i := range all {
		if s := &all[i]; s.kind == next.kind && s.last <= next.first+slack && (before == nil || s.last > before.last) {
			before = s
		}
	}
	return before
}
