package foreign

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// greeting begins the first line of a command; it contains the protocol's version. The scope and what the command
// declares follow.
const (
	greeting       = "locklab-lock 1 "
	perClient      = "per-client"
	perProcess     = "per-process"
	declaresLayout = "layout="
	declaresPings  = "pings"
	ping           = "ping" // a request
	pong           = "pong" // and its answer
)

// The answers of a command, by their first word.
const (
	opened       = "opened"
	queued       = "queued"
	granted      = "granted"
	timedOut     = "timeout"
	failed       = "failed"
	released     = "released"
	lost         = "lost"
	disconnected = "disconnected"
	connected    = "connected"
	expired      = "expired"
	closed       = "closed"
	fatal        = "error"
)

// An answer is a line that a command wrote.
type answer struct {
	verb    string
	id      int64
	session int64         // opened, granted; 0 = not given
	timeout time.Duration // opened; 0 = not given
	server  string        // opened, connected
	tokens  []int64       // granted
	at      int64         // granted; 0 = not given
	ahead   int           // queued
	text    string        // failed, lost, disconnected, expired, fatal
}

var errNoAnswer = errors.New("not an answer of the lock protocol")

// parse reads a line that is not empty.
func parse(line string) (answer, error) {
	verb, rest, _ := strings.Cut(line, " ")
	a := answer{verb: verb}
	if verb == fatal {
		a.text = rest
		return a, nil
	}
	if !slices.Contains(
		[]string{opened, queued, granted, timedOut, failed, released, lost, disconnected, connected, expired, closed},
		verb,
	) {
		return a, errNoAnswer
	}
	id, rest, _ := strings.Cut(rest, " ")
	var err error
	if a.id, err = strconv.ParseInt(id, 10, 64); err != nil || a.id <= 0 {
		return a, fmt.Errorf("%w: %s names %q, which is not an ID", errNoAnswer, verb, id)
	}
	switch verb {
	case failed, lost, disconnected, expired:
		a.text = rest
		return a, nil
	}
	w := words{rest: strings.Fields(rest)}
	switch verb {
	case opened:
		a.session = w.sessionID()
		a.timeout = w.milliseconds("timeout")
		a.server = w.next()
	case queued:
		if len(w.rest) == 0 || w.rest[0] == leftOut {
			w.err = errors.New("how many are ahead is missing")
		}
		a.ahead = int(w.number("number ahead"))
	case granted:
		a.tokens = w.tokens()
		a.session = w.sessionID()
		a.at = w.number("time")
	case connected:
		a.server = w.next()
	}
	if w.err == nil && len(w.rest) > 0 {
		w.err = fmt.Errorf("%q is more than the answer can have", strings.Join(w.rest, " "))
	}
	if w.err != nil {
		return a, fmt.Errorf("%w: %w", errNoAnswer, w.err)
	}
	return a, nil
}

// words are the optional words of an answer. The first error stays.
type words struct {
	rest []string
	err  error
}

// next returns the next word, or "" if it is left out.
func (w *words) next() string {
	if len(w.rest) == 0 {
		return ""
	}
	word := w.rest[0]
	w.rest = w.rest[1:]
	if word == leftOut {
		return ""
	}
	return word
}

// leftOut stands for a word that is left out before others.
const leftOut = "-"

// milliseconds reads a time that a time.Duration can hold.
func (w *words) milliseconds(what string) time.Duration {
	n := w.number(what)
	if n > math.MaxInt64/int64(time.Millisecond) && w.err == nil {
		w.err = fmt.Errorf("a %s of %d ms is too long", what, n)
	}
	return time.Duration(n) * time.Millisecond
}

func (w *words) number(what string) int64 { return w.parse(what, w.next()) }

func (w *words) parse(what, word string) int64 {
	if word == "" {
		return 0
	}
	n, err := strconv.ParseInt(word, 10, 64)
	if (err != nil || n < 0) && w.err == nil {
		w.err = fmt.Errorf("%q is not a %s", word, what)
	}
	return n
}

// sessionID reads a number of 64 bits, which some commands write with a sign.
func (w *words) sessionID() int64 {
	word := w.next()
	if word == "" {
		return 0
	}
	n, err := strconv.ParseInt(word, 0, 64)
	if err != nil {
		var u uint64
		u, err = strconv.ParseUint(word, 0, 64)
		n = int64(u)
	}
	if err != nil && w.err == nil {
		w.err = fmt.Errorf("%q is not a session ID", word)
	}
	return n
}

func (w *words) tokens() []int64 {
	word := w.next()
	if word == "" {
		return nil
	}
	var all []int64
	for t := range strings.SplitSeq(word, ",") {
		if t == "" && w.err == nil {
			w.err = fmt.Errorf("%q has an empty token", word)
		}
		all = append(all, w.parse("token", t))
	}
	return all
}
