package advice

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

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
