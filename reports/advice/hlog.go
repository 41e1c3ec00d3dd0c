package advice

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"locklab/reports/result"
)

// legend begins the line with the names of an HdrHistogram log's columns.
const legend = `"StartTimestamp"`

// isHlog reports whether the first line of a file is that of an HdrHistogram log.
func isHlog(first []byte) bool {
	line := string(first)
	return strings.HasPrefix(line, "#") || strings.HasPrefix(line, "Tag=") || strings.HasPrefix(line, legend) ||
		strings.Contains(line, ",HISTF")
}

const howToHlog = "hiccups.hlog of a run, or a log of its kind: pauses in ns"

// readHlog reads an HdrHistogram log of pauses in nanoseconds, as a run's hiccups are. The time that it covers is that
// of its intervals together, so each process has intervals of its own.
func readHlog(in *lines) (Pauses, error) {
	p := Pauses{Source: in.file, What: "hiccups"}
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
			return Pauses{}, in.bad("jHiccup adds samples that no pause had, to correct for those that it missed",
				"the JVM's GC log has each pause once")
		case line == "", line[0] == '#', strings.HasPrefix(line, legend):
			continue
		}
		h, err := interval(line)
		if err != nil {
			return Pauses{}, in.bad(err.Error(), howToHlog)
		}
		p.Span += time.Duration(h.EndTimeMs()-h.StartTimeMs()) * time.Millisecond
		for _, b := range h.Distribution() {
			if b.Count > 0 {
				p.Lengths = append(p.Lengths, Length{time.Duration(b.From + (b.To-b.From)/2), float64(b.Count)})
			}
		}
	}
	in.n = max(in.n, 1)
	switch {
	case len(p.Lengths) == 0:
		return Pauses{}, in.bad("the log has no samples", howToHlog)
	case p.Span <= 0:
		return Pauses{}, in.bad("the log's intervals have no length, so it does not tell how much time it covers", howToHlog)
	}
	return p, nil
}

// interval reads the line of an interval.
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
