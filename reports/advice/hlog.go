package advice

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"locklab/harness/untrusted"
	"locklab/reports/result"
)

// legend begins the line with the names of an HdrHistogram log's columns.
const legend = `"StartTimestamp"`

// otherPauses are pauses that another tool has logged.
const otherPauses = "pauses of another tool"

// unitFlag is the flag that gives the unit of HdrHistogram logs of other tools, and says that they are pauses.
const unitFlag = "--pauses-in"

const (
	howToHlog = "hiccups.hlog of a run has pauses in ns; if the values of another tool's log are pauses, " + unitFlag +
		" says so and gives their unit"
	gcHasEach = "the JVM's GC log has each pause once"
)

// readHlog reads an HdrHistogram log of pauses, as a run's hiccups are. The format does not tell what its values are
// nor in which unit, so a log that is not of hiccups must come with a unit. The time that it covers is that of its
// intervals together, so each process has intervals of its own, by their tags.
func readHlog(in *lines, unit time.Duration) (Pauses, error) {
	var (
		p     = Pauses{Source: in.file, What: otherPauses, at: place{in.file, 1}}
		until = map[string]int64{}
		most  time.Duration
	)
	for {
		line, err := in.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Pauses{}, err
		}
		switch {
		case strings.Contains(line, result.LatenciesComment):
			return Pauses{}, in.bad("these are latencies and not pauses", "hiccups.hlog is beside it")
		case strings.HasPrefix(line, "#") && strings.Contains(line, "jHiccup"):
			return Pauses{}, in.bad("jHiccup adds samples that no pause had, to correct for those that it missed", gcHasEach)
		case strings.HasPrefix(line, "#") && strings.Contains(line, result.HiccupsComment):
			if p.What = "hiccups"; unit != 0 && unit != time.Nanosecond {
				return Pauses{}, in.bad("the log has ns, by its own words, and "+unitFlag+" says otherwise",
					"leave the flag out")
			}
			unit = time.Nanosecond
			continue
		case line == "", line[0] == '#', strings.HasPrefix(line, legend):
			continue
		case unit == 0:
			return Pauses{}, in.bad("the log does not say that its values are pauses, nor in which unit they are", howToHlog)
		}
		h, err := interval(line)
		if err != nil {
			return Pauses{}, in.bad(err.Error(), howToHlog)
		}
		if before, ok := until[h.Tag()]; ok && h.StartTimeMs() < before {
			return Pauses{}, in.bad("the interval begins before the one before it has ended",
				"each process has intervals of its own, one after the other, by their tags")
		}
		until[h.Tag()] = h.EndTimeMs()
		p.Span += time.Duration(h.EndTimeMs()-h.StartTimeMs()) * time.Millisecond
		for _, b := range h.Distribution() {
			if b.Count == 0 {
				continue
			}
			length := time.Duration(b.From + (b.To-b.From)/2)
			if length > longestValue/unit {
				return Pauses{}, in.bad(fmt.Sprintf("a value of %d %s is no pause", length, unit.String()[1:]), howToHlog)
			}
			if length *= unit; length >= most {
				most, p.at = length, in.place()
			}
			p.Lengths = append(p.Lengths, Length{length, float64(b.Count)})
		}
	}
	in.n = max(in.n, 1)
	switch {
	case len(p.Lengths) == 0:
		return Pauses{}, in.bad("the log has no samples", howToHlog)
	case p.Span <= 0:
		return Pauses{}, in.bad("the log's intervals have no length, so it does not tell how much time it covers", howToHlog)
	}
	if p.What == otherPauses {
		p.Notes = append(p.Notes, fmt.Sprintf("%s: its values were taken for pauses, as %s says; if they are latencies, the "+
			"advice is wrong", untrusted.Line(in.file), unitFlag))
	}
	if len(until) > 1 {
		p.Notes = append(p.Notes, fmt.Sprintf("%s has %d tags, which were taken for as many processes",
			untrusted.Line(in.file), len(until)))
	}
	return p, nil
}

// longestValue is longer than any pause.
const longestValue = Year

func interval(line string) (h *hdrhistogram.Histogram, err error) {
	defer func() {
		if r := recover(); r != nil { // the library slices what it reads without checking its length
			h, err = nil, fmt.Errorf("an interval that cannot be read: %v", r)
		}
	}()
	h, err = hdrhistogram.NewHistogramLogReader(strings.NewReader(line + "\n")).NextIntervalHistogram()
	switch {
	case err != nil:
		return nil, fmt.Errorf("an interval that cannot be read: %w", err)
	case h == nil:
		return nil, errors.New("a line that is no interval of an HdrHistogram log")
	}
	return h, nil
}
