package scenario

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"locklab/harness/settings"
	"locklab/reports/words"
	"locklab/workloads"
)

// A rule is a contradiction between keys. The table rules has those that depend on the values of keys alone.
type rule struct {
	keys string // with spaces between them; the first is at fault
	// msg is the message. In braces it names keys, and terms, whose values are put there. A noun after a colon, as in
	// {clients:client}, is what the value counts.
	msg    string
	hint   string
	broken func(s *Scenario) bool
}

// rules refuses what breaks the rules of the table.
func (v *validator) rules() {
	for _, r := range rules {
		if r.broken(v.Scenario) {
			v.refuse(strings.Fields(r.keys), r.hint, "%s", v.fill(r.msg))
		}
	}
}

var blank = regexp.MustCompile(`\{[a-z-]+(:[a-z ]+)?\}`)

// fill puts the values of keys and terms into a message.
func (s *Scenario) fill(msg string) string {
	return blank.ReplaceAllStringFunc(msg, func(name string) string {
		name, noun, counted := strings.Cut(strings.Trim(name, "{}"), ":")
		text := s.Text(name)
		if term, ok := terms[name]; ok {
			text = fmt.Sprint(term(s))
		}
		if n, err := strconv.ParseInt(text, 10, 64); counted && err == nil {
			return words.Count(n, noun)
		}
		return text
	})
}

// terms are values in messages that are computed from the values of keys.
var terms = map[string]func(*Scenario) any{
	"other-clients":        func(s *Scenario) any { return s.Clients - 1 },
	"txnlog-dirs":          func(s *Scenario) any { return len(s.TxnLogDirs()) },
	"versions":             func(s *Scenario) any { return len(s.versions()) },
	"connected":            func(s *Scenario) any { return s.connected() },
	"clients-of-a-process": func(s *Scenario) any { return s.clientsOfAProcess() },
	"acquisitions":         func(s *Scenario) any { return s.acquisitions() },
	"run-length":           func(s *Scenario) any { return settings.FormatDuration(s.Warmup + s.Duration) },
	"appended":             func(s *Scenario) any { return settings.FormatNumber(s.appended()) },
	"list-length":          func(*Scenario) any { return workloads.MaxElements },
	"resized-permits":      func(s *Scenario) any { return s.Resize.To },
	"resize-interval":      func(s *Scenario) any { return settings.FormatDuration(s.Resize.Every) },
	"least-session": func(s *Scenario) any {
		least, _ := s.SessionLimits()
		return settings.FormatDuration(least)
	},
	"longest-session": func(s *Scenario) any {
		_, longest := s.SessionLimits()
		return settings.FormatDuration(longest)
	},
}

// acquisitions returns how many acquisitions a run of so many iterations has.
func (s *Scenario) acquisitions() int64 { return int64(s.Clients) * int64(s.Iterations) }

// clientsOfAProcess returns the most clients that a client process has.
func (s *Scenario) clientsOfAProcess() int { return slices.Max(append(s.ClientsPerProcess(), 1)) }

// appended returns how many elements the clients append at most, as far as that is planned.
func (s *Scenario) appended() float64 {
	most := float64(s.acquisitions())
	if s.Open() {
		for _, r := range s.Rate.Rates {
			most = max(most, r*(s.Warmup+s.Duration).Seconds())
		}
	}
	if s.Workload == workloads.MultiLock {
		most *= float64(s.LocksAtOnce)
	}
	return most
}

// resizes reports whether the number of permits changes during the run.
func (s *Scenario) resizes() bool { return s.Workload == workloads.Semaphore && s.Resize.Every > 0 }

// readsOnly reports whether no client writes.
func (s *Scenario) readsOnly() bool { return s.Workload == workloads.ReadWrite && s.ReadShare == 1 }
