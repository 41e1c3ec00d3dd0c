package advice

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"locklab/harness/scenario"
	"locklab/harness/untrusted"
	"locklab/reports/words"
)

// Pauses are the pauses that one process had while it was watched.
type Pauses struct {
	Source string // where they come from
	What   string // what counted as a pause
	// Lengths are the lengths of the pauses, the shortest first. Counts of interpolated lengths are not whole.
	Lengths []Length
	Span    time.Duration // for how long the process was watched
	// Interpolated says that only quantiles are known, and that the lengths between them are a guess.
	Interpolated bool
	Notes        []string // what the reader should know about the input
	at           place    // of the longest pause, or of the first line
}

// A Length is how long a pause was, and how many were as long.
type Length struct {
	Of    time.Duration
	Count float64
}

// Count returns the number of pauses.
func (p *Pauses) Count() float64 {
	n := 0.0
	for _, l := range p.Lengths {
		n += l.Count
	}
	return n
}

// Longest returns the length of the longest pause.
func (p *Pauses) Longest() time.Duration {
	if len(p.Lengths) == 0 {
		return 0
	}
	return p.Lengths[len(p.Lengths)-1].Of
}

// join adds the pauses of another process, or of the same one at another time.
func (p *Pauses) join(o Pauses) {
	if o.What != p.What {
		p.Notes = append(p.Notes, fmt.Sprintf("%s tells %s, and others %s: if both are of one process at one time, its "+
			"pauses count twice", untrusted.Line(o.Source), o.What, p.What))
	}
	p.Source += ", " + o.Source
	if !strings.Contains(p.What, o.What) {
		p.What += ", " + o.What
	}
	p.Lengths = append(p.Lengths, o.Lengths...)
	p.Span += o.Span
	p.Notes = append(p.Notes, o.Notes...)
	p.order()
}

func (p *Pauses) order() {
	slices.SortStableFunc(p.Lengths, func(a, b Length) int { return cmp.Compare(a.Of, b.Of) })
}

// check refuses pauses that one process cannot have had.
func (p *Pauses) check() error {
	total := 0.0
	for _, l := range p.Lengths {
		total += l.Count * l.Of.Seconds()
	}
	const hint = "every pause counts once, and the time is that of the whole log"
	refuse := func(msg string, args ...any) error {
		msg = fmt.Sprintf(msg, args...)
		if p.Interpolated {
			return badQuantiles("%s", msg)
		}
		return p.at.bad(msg, hint)
	}
	switch longest := p.Longest(); {
	case longest > p.Span:
		return refuse("a pause of %s is longer than the time that was watched, %s", spanText(longest), spanText(p.Span))
	case total > p.Span.Seconds():
		return refuse("the pauses add up to %s s, which is more than the time that was watched, %s",
			words.Digits3(total), spanText(p.Span))
	}
	return nil
}

// flag is the flag that names the sources.
const flag = "--pauses"

// Read reads pauses from sources: files and directories of rotated files, whose pauses and spans are added up, or one
// list of quantiles. The unit is that of the values in HdrHistogram logs of other tools, 0 if there are none. The error
// of bad input is a [*scenario.InputError].
func Read(sources []string, unit time.Duration) (Pauses, error) {
	var (
		all  Pauses
		each []Pauses
	)
	for i, source := range sources {
		p, err := read(source, unit)
		if err == nil {
			err = p.check()
		}
		if err != nil {
			return Pauses{}, err
		}
		for k, o := range each {
			if p.Span == o.Span && slices.Equal(p.Lengths, o.Lengths) {
				return Pauses{}, &scenario.InputError{Flag: flag, Msg: fmt.Sprintf("%s has the same pauses as %s",
					untrusted.Line(source), untrusted.Line(sources[k])), Hint: "give each log once"}
			}
		}
		each = append(each, p)
		switch {
		case p.Interpolated && len(sources) > 1:
			return Pauses{}, &scenario.InputError{Flag: flag, Msg: "quantiles do not add up with another source",
				Hint: "give one list of quantiles, or logs only"}
		case i == 0:
			all = p
			all.Lengths = slices.Clone(p.Lengths)
		default:
			all.join(p)
		}
	}
	if unit != 0 && !slices.ContainsFunc(each, func(p Pauses) bool { return p.What == otherPauses }) {
		return Pauses{}, &scenario.InputError{Flag: unitFlag, Msg: "no source is an HdrHistogram log of another tool",
			Hint: "leave the flag out: all other sources have units of their own"}
	}
	return all, nil
}

func read(source string, unit time.Duration) (Pauses, error) {
	info, err := os.Stat(source)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if strings.Contains(source, "=") {
			return parseQuantiles(source)
		}
		return Pauses{}, &scenario.InputError{Flag: flag, Msg: "there is no file " + untrusted.Line(source),
			Hint: "a JVM's GC log, hiccups.hlog of a run, or p50=2ms,p99=80ms,max=3s,count=86400,over=24h"}
	case err == nil && info.IsDir():
		return readDir(source)
	}
	var p Pauses
	err = withFile(source, func(in *lines) (err error) {
		switch {
		case in.isEmpty():
			return in.bad("the file is empty", howToLog)
		case in.isHlog():
			p, err = readHlog(in, unit)
		default:
			p, err = readGCLog(in)
		}
		return err
	})
	p.order()
	return p, err
}
