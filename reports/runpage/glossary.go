package runpage

import (
	"html/template"
	"regexp"
	"strings"

	"locklab/reports/doc"
	"locklab/reports/result"
	"locklab/workloads/guard"
)

// A term is a word of the page that not every reader knows.
type term struct{ Word, Means string }

// terms are explained where they first occur on a page, and in its glossary.
var terms = []term{
	{"token", "A number that each grant of a lock comes with, and that only rises. A resource that remembers the " +
		"highest it has served can refuse an outdated holder by it."},
	{"zxid", "The number of a transaction of ZooKeeper. It orders everything that the servers did."},
	{"session", "What a client has with the servers. They end it if they do not hear of the client for the session " +
		"timeout, and delete its znodes, so that its locks go to others."},
	{"znode", "An entry in ZooKeeper's tree. A client holds a lock, or waits for it, by a znode of its session."},
	{"eligible", "By the servers' own data, it is this znode's turn: its client may hold the lock."},
	{"overlap", "A time in which two clients believed that they held one lock."},
	{"outdated", "Of an access: the resource had already served a holder with a higher token."},
	{"untold", "Of a write: it was invoked before its client had been told that its lock was lost."},
	{"hand-off", "The time from the release of a lock to its grant to a client that already waited."},
	{"heal", "The end of a fault: the process runs again, the network is whole."},
	{"drain", "The end of a run, in which clients finish and ask for nothing more."},
	{"closed loop", "Each client asks again only when it is done, so a slow lock slows down the load, too."},
	{"p99", "The latency that 99 of 100 acquisitions do not exceed; p50 is the median."},
}

// glossarySection explains the terms, and each guard.
func glossarySection(r *result.Result) section {
	s := section{ID: "glossary", Title: "Words of this page", Brief: "token, eligible, hand-off, guards and others"}
	t := doc.NewTable("Words of this page and what they mean", "word", "meaning")
	for _, w := range terms {
		t.Add(w.Word, w.Means)
	}
	for _, g := range guard.All {
		name := "guard " + g.Name
		if g.Name == r.Guard {
			name += " (this run)"
		}
		t.Add(name, g.Is+" What gets through: "+strings.ToLower(g.Passes[:1])+strings.TrimSuffix(g.Passes[1:], ".")+".")
	}
	s.table(t)
	return s
}

// An explainer marks each term where it first occurs in the texts that it is given, in their order.
type explainer struct{ seen map[string]bool }

var termPattern = func() map[string]*regexp.Regexp {
	all := map[string]*regexp.Regexp{}
	for _, w := range terms {
		all[w.Word] = regexp.MustCompile(`\b` + regexp.QuoteMeta(w.Word) + `s?\b`)
	}
	return all
}()

// mark returns the text as HTML, in which terms that occur for the first time have a title.
func (e *explainer) mark(text string) template.HTML {
	type place struct {
		from, to int
		means    string
	}
	var places []place
	for _, w := range terms {
		at := termPattern[w.Word].FindStringIndex(text)
		if at == nil || e.seen[w.Word] {
			continue
		}
		overlaps := false
		for _, p := range places {
			overlaps = overlaps || at[0] < p.to && p.from < at[1]
		}
		if !overlaps {
			places = append(places, place{at[0], at[1], w.Means})
			e.seen[w.Word] = true
		}
	}
	var b strings.Builder
	for at := 0; at < len(text); {
		next := place{from: len(text), to: len(text)}
		for _, p := range places {
			if p.from >= at && p.from < next.from {
				next = p
			}
		}
		b.WriteString(template.HTMLEscapeString(text[at:next.from]))
		if next.from < len(text) {
			b.WriteString(`<abbr title="` + template.HTMLEscapeString(next.means) + `">` +
				template.HTMLEscapeString(text[next.from:next.to]) + `</abbr>`)
		}
		at = next.to
	}
	return template.HTML(b.String())
}
