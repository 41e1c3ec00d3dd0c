package inspect

import (
	_ "embed"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"text/template"
	"time"

	"locklab/harness/untrusted"
	"locklab/reports/words"
)

//go:embed text.tmpl
var layout string

// form is that of a report for people.
var form = template.Must(template.New("report").Funcs(template.FuncMap{"line": untrusted.Line, "count": words.Count,
	"all": (*Lock).all, "role": role, "age": age, "owner": owner, "address": address, "timeout": timeout,
	"silent": silent, "data": data,
	"because": func(l *Lock) string { return untrusted.Line(words.Sentence(l.Because)) },
	"unwell":  func(l *Lock) bool { return l.Verdict.Bad() || l.Verdict == Unclear },
	"holder": func(l *Lock) string {
		if all := l.Holders(); len(all) > 0 && all[0].Read {
			return strings.TrimSpace(all[0].Session + " " + address(all[0].Client))
		}
		return ""
	},
	"foreign": func(all []string) string {
		return fmt.Sprintf("%s of the directory take no part: %s.", words.Count(int64(len(all)), "znode"),
			untrusted.Line(strings.Join(all[:min(len(all), 5)], ", ")))
	},
	"apart": func(d *time.Duration) string { return words.Duration(int64(d.Abs().Round(time.Millisecond))) },
}).Parse(layout))

// Write writes a report for people. Names and data of other clients cannot change how a terminal shows it.
func (r *Report) Write(w io.Writer, now time.Time) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	err := form.Execute(t, struct {
		*Report
		Now time.Time // of the servers
	}{r, r.byTheirs(now)})
	return errors.Join(err, t.Flush())
}

func address(c *Client) string {
	switch {
	case c == nil:
		return ""
	case c.Address == "":
		return "not connected"
	}
	return c.Address
}

// byTheirs turns a time of this machine's clock into the servers'.
func (r *Report) byTheirs(now time.Time) time.Time {
	if r.ClockAhead == nil {
		return now
	}
	return now.Add(*r.ClockAhead)
}

func role(l *Lock, c *Contender) string {
	what := "waits"
	switch {
	case c.Holds:
		what = "holds"
	case slices.Contains(l.Queued, c):
		what = "queues"
	}
	if c.Shared {
		what += " (reader)"
	}
	if c.Revoked {
		what += ", asked to leave"
	}
	return what
}

func owner(c *Contender) string {
	if c.Read && c.owner == 0 {
		return "none: persistent"
	}
	return c.Session
}

func timeout(c *Client) string {
	if c == nil || c.Timeout == 0 {
		return ""
	}
	return words.Duration(int64(c.Timeout))
}

func silent(c *Client) string {
	if c == nil || c.Timeout == 0 || c.answered == 0 {
		return ""
	}
	return words.Duration(int64(c.Silent))
}

// data shows what a znode contains, as text.
func data(c *Contender) string {
	if c.Revoked {
		return ""
	}
	return fmt.Sprintf("%.60q", c.Data)
}
