package nodes_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"locklab/ensembles/txnlog"
	"locklab/ensembles/txnlog/nodes"
)

// The files in testdata contain histories and queries in these commands:
//
//	history                       one transaction per line: its zxid, then
//	  A open | A close [PATH…|-] | A expire [PATH…|-]    (- is a list without paths)
//	  A create PATH [ephemeral] | A delete PATH | A reap PATH | A multi OP; OP…
//	guid GUID | at PATH ZXID
//	lane queue|rw|leases|znode PATH [permits=N]     one line per span
//	eligible ZXID                 in the lane of the last lane command
//	witness [czxid=N] session=A from=MS to=MS
//
// Sessions are letters; the transaction of zxid n was prepared at 10 n ms.
func TestNodes(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var h *nodes.History
		var lane *nodes.Lane
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "history":
				h = nodes.Replay(slices.Values(parse(t, d.Input)))
				return describe(h)
			case "guid":
				var b strings.Builder
				for _, l := range h.ByGUID(d.CmdArgs[0].Key) {
					b.WriteString(life(l) + "\n")
				}
				return or(b.String(), "never\n")
			case "at":
				zxid, _ := strconv.ParseInt(d.CmdArgs[1].Key, 10, 64)
				if l := h.At(d.CmdArgs[0].Key, zxid); l != nil {
					return life(l) + "\n"
				}
				return "nothing\n"
			case "lane":
				lane = h.Lane(lock(t, d))
				return spans(lane.Spans)
			case "eligible":
				zxid, _ := strconv.ParseInt(d.CmdArgs[0].Key, 10, 64)
				return spans(lane.At(zxid))
			case "witness":
				g := nodes.Grant{}
				var who string
				d.MaybeScanArgs(t, "czxid", &g.Czxid)
				d.ScanArgs(t, "session", &who)
				d.ScanArgs(t, "from", &g.From)
				d.ScanArgs(t, "to", &g.To)
				g.Session = session(who)
				answer, span := lane.Witness(g)
				if span != nil {
					return answer.String() + ": " + spans([]nodes.Span{*span})
				}
				return answer.String() + "\n"
			}
			t.Fatalf("no command %s", d.Cmd)
			return ""
		})
	})
}

func lock(t *testing.T, d *datadriven.TestData) (nodes.Selector, nodes.Rule) {
	path := d.CmdArgs[1].Key
	switch kind := d.CmdArgs[0].Key; kind {
	case "queue":
		return nodes.Children(path, "lock-"), nodes.First
	case "rw":
		return nodes.Children(path, "__WRIT__", "__READ__"), nodes.ReadWrite
	case "leases":
		var permits int
		d.ScanArgs(t, "permits", &permits)
		return nodes.Children(path, "lease-"), nodes.Leases(func(int64) int { return permits })
	case "znode":
		return nodes.Znode(path), nodes.First
	default:
		t.Fatalf("no lock %s", kind)
		return nodes.Selector{}, nil
	}
}

func session(letter string) int64 { return int64(letter[0]) }

func parse(t *testing.T, input string) []txnlog.Txn {
	var all []txnlog.Txn
	for line := range strings.Lines(input) {
		w := strings.Fields(line)
		zxid, err := strconv.ParseInt(w[0], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		txn := txnlog.Txn{Zxid: zxid, Session: session(w[1]), Cxid: 1, Time: 10 * zxid}
		switch args := w[3:]; w[2] {
		case "open":
			txn.Type, txn.Timeout = txnlog.CreateSession, time.Second
		case "close", "expire":
			txn.Type = txnlog.CloseSession
			if w[2] == "expire" {
				txn.Cxid = 0
			}
			if len(args) > 0 {
				txn.Closes = slices.DeleteFunc(slices.Clone(args), func(p string) bool { return p == "-" })
			}
		case "multi":
			txn.Type = txnlog.Multi
			for part := range strings.SplitSeq(strings.Join(args, " "), ";") {
				txn.Ops = append(txn.Ops, op(t, strings.Fields(part)))
			}
		default:
			txn.Ops = []txnlog.Op{op(t, w[2:])}
			txn.Type = txn.Ops[0].Type
		}
		all = append(all, txn)
	}
	return all
}

func op(t *testing.T, w []string) txnlog.Op {
	kinds := map[string]txnlog.Type{"create": txnlog.Create2, "delete": txnlog.Delete, "reap": txnlog.DeleteContainer,
		"set": txnlog.SetData, "error": txnlog.Error}
	kind, ok := kinds[w[0]]
	if !ok {
		t.Fatalf("no operation %q", w)
	}
	return txnlog.Op{Type: kind, Path: w[1], Ephemeral: len(w) > 2 && w[2] == "ephemeral"}
}

func describe(h *nodes.History) string {
	var b strings.Builder
	fmt.Fprintf(&b, "from %d to %d complete=%t\n", h.First, h.Last, h.Complete)
	for _, id := range slices.Sorted(maps.Keys(h.Sessions)) {
		s := h.Sessions[id]
		fmt.Fprintf(&b, "session %c %d-%d (%d-%d ms) expired=%t\n", rune(s.ID), s.Created, s.Closed, s.CreatedTime,
			s.ClosedTime, s.Expired)
	}
	for _, l := range h.Lives {
		b.WriteString(life(l) + "\n")
	}
	for _, o := range h.Oddities {
		fmt.Fprintf(&b, "odd: %v\n", o)
	}
	return b.String()
}

func life(l *nodes.Life) string {
	s := fmt.Sprintf("%s since %d", l.Path, l.Czxid)
	if l.Owner != 0 {
		s += fmt.Sprintf(" of %c", rune(l.Owner))
	}
	if l.End != nil {
		s += fmt.Sprintf(" until %d (%d ms): %v by %c", l.End.Zxid, l.End.Time, l.End.Cause, rune(l.End.By))
	}
	return s
}

func spans(all []nodes.Span) string {
	var b strings.Builder
	for _, s := range all {
		fmt.Fprintf(&b, "%s czxid=%d of %c: %d-%d (%d-%d ms)\n", s.Name(), s.Czxid, rune(s.Owner), s.From, s.To, s.FromTime,
			s.ToTime)
	}
	return or(b.String(), "nobody\n")
}

func or(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// Some of the names differ from those of contenders only slightly.
func TestChildren(t *testing.T) {
	sel := nodes.Children("/l", "lock-", "read-")
	for path, want := range map[string]nodes.Place{
		"/l/lock-0000000007": {Seq: 7}, "/l/_c_0-read-0000000008": {Kind: 1, Seq: 8},
		"/l/lock--2147483648": {Seq: -1 << 31}, "/l/xlock-lock-0000000001": {Seq: 1},
	} {
		if got, ok := sel.Place(path); !ok || got != want {
			t.Errorf("%s: %v, %t", path, got, ok)
		}
	}
	for _, path := range []string{"/l", "/l/", "/l/lock-", "/l/lock-7", "/l/lock-00000000070", "/l/x-0000000007",
		"/m/lock-0000000007", "/l/a/lock-0000000007", "/l/0000000007", "/l/lock-+000000007", "/ll/lock-0000000007",
		"/l/lock-000000000x"} {
		if got, ok := sel.Place(path); ok {
			t.Errorf("%s: %v", path, got)
		}
	}
}
