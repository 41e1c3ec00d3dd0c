package inspect

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"locklab/harness/untrusted"
	"locklab/reports/words"
)

// Write writes a report for people. Names and data of other clients cannot change how a terminal shows it.
func (r *Report) Write(w io.Writer, now time.Time) error {
	var b strings.Builder
	switch {
	case r.Lock != nil:
		r.writeLock(&b, now)
	case len(r.Locks) > 0:
		r.writeLocks(&b, now)
	case len(r.Hidden) == 0 && r.Incomplete == "":
		fmt.Fprintf(&b, "%s: no lock of a known layout is there or below.\n", untrusted.Line(r.Path))
	}
	for _, h := range r.Hidden {
		fmt.Fprintf(&b, "The credential may not read %s.\n", untrusted.Line(h))
	}
	if r.Incomplete != "" {
		fmt.Fprintf(&b, "Not everything was seen: %s.\n", r.Incomplete)
	}
	for _, s := range r.Servers {
		if !s.Serves {
			fmt.Fprintf(&b, "Server %s %s.\n", s.Address, s.State)
		}
	}
	if !slices.ContainsFunc(r.Servers, func(s Server) bool { return s.Clients }) {
		b.WriteString("No server lists its clients (the word cons is not in its whitelist), so addresses and timeouts " +
			"are unknown.\n")
	}
	fmt.Fprintf(&b, "%s, none of them a write.\n", words.Count(r.Requests, "request"))
	_, err := io.WriteString(w, b.String())
	return err
}

// writeLocks writes a line for each lock.
func (r *Report) writeLocks(b *strings.Builder, now time.Time) {
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "lock\tkind\tverdict\tholders\tfirst holder\twaiters\tfirst waits since")
	for _, l := range r.Locks {
		holders, waiters := l.Holders(), l.Waiters()
		holder, wait := "", ""
		if len(holders) > 0 && holders[0].Read {
			holder = holders[0].Session + " " + address(holders[0].Client)
		}
		if len(waiters) > 0 && waiters[0].Read {
			wait = age(waiters[0], r.byTheirs(now))
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%s\t%d\t%s\n", untrusted.Line(l.Path), l.Kind, l.Verdict, len(holders),
			strings.TrimSpace(holder), len(waiters), wait)
	}
	t.Flush()
	for _, l := range r.Locks {
		if l.Verdict.Bad() || l.Verdict == Unclear {
			fmt.Fprintf(b, "%s: %s\n", untrusted.Line(l.Path), untrusted.Line(words.Sentence(l.Because)))
		}
	}
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

func (r *Report) writeLock(b *strings.Builder, now time.Time) {
	l := r.Lock
	is := "is " + string(l.Verdict)
	if l.Verdict == Unclear {
		is = "may be stuck or not"
	}
	fmt.Fprintf(b, "%s %s: %s\n", untrusted.Line(l.Path), is, untrusted.Line(words.Sentence(l.Because)))
	if l.Advice != "" {
		fmt.Fprintln(b, untrusted.Line(l.Advice))
	}
	fmt.Fprintf(b, "A %s, the layout of %s.\n\n", l.Kind, l.Made)
	if len(l.all()) > 0 {
		t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "\tznode\tage\tsession\tclient\ttimeout\ttoken\tdata")
		for _, c := range l.all() {
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", role(l, c), untrusted.Line(c.Name()), ageOf(c, r.byTheirs(now)),
				owner(c), address(c.Client), timeout(c.Client), token(c), untrusted.Line(data(c)))
		}
		t.Flush()
		b.WriteString("\n")
	}
	if len(l.Foreign) > 0 {
		fmt.Fprintf(b, "%s of the directory take no part: %s.\n", words.Count(int64(len(l.Foreign)), "znode"),
			untrusted.Line(strings.Join(l.Foreign[:min(len(l.Foreign), 5)], ", ")))
	}
	if ahead := r.ClockAhead; ahead == nil {
		b.WriteString("Ages are by the leader's clock, and by how much it differs from this machine's is unknown.\n")
	} else {
		fmt.Fprintf(b, "Ages are by the servers' clock, which differs from this machine's by %s.\n",
			words.Duration(int64(ahead.Abs().Round(time.Millisecond))))
	}
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

func ageOf(c *Contender, now time.Time) string {
	if !c.Read {
		return ""
	}
	return age(c, now)
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

func token(c *Contender) string {
	if !c.Read {
		return ""
	}
	return fmt.Sprintf("%d", c.Token)
}

// data shows what a znode contains, as text.
func data(c *Contender) string {
	if c.Revoked {
		return ""
	}
	return fmt.Sprintf("%.60q", c.Data)
}
