package check

import (
	"fmt"
	"slices"
	"strings"

	"locklab/ensembles/txnlog"
	"locklab/ensembles/txnlog/nodes"
	"locklab/harness/check/evidence"
	"locklab/harness/history"
)

// The notation of the servers' transactions among the happenings of a fixture; see parseHistory:
//
//	txn 1.05 0x5 0x1 create l1/lock-0000000000    at 1.05 s, of zxid 0x5, by session 0x1, which owns the znode
//	txn 1.05 0x5 0x1 delete l1/lock-0000000000    several with ; between them are one transaction
//	txn 1.05 0x5 0x1 expire                       also "close": its znodes go with it; also "open"
//
// They count in facts with a layout, where the leader's clock is the run's.
func parseLog(text string) ([]txnlog.Txn, error) {
	var all []txnlog.Txn
	for i, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		f := strings.Fields(line)
		if len(f) < 5 || f[0] != "txn" {
			continue
		}
		t := txnlog.Txn{Time: at(f[1]) / 1e6, Zxid: integer(f[2]), Session: integer(f[3]), Cxid: 1, Type: txnlog.Multi}
		for part := range strings.SplitSeq(strings.Join(f[4:], " "), ";") {
			w := strings.Fields(part)
			switch w[0] {
			case "create":
				t.Ops = append(t.Ops, txnlog.Op{Type: txnlog.Create2, Path: w[1], Ephemeral: true})
			case "delete":
				t.Ops = append(t.Ops, txnlog.Op{Type: txnlog.Delete, Path: w[1]})
			case "open":
				t.Type = txnlog.CreateSession
			case "close":
				t.Type = txnlog.CloseSession
			case "expire":
				t.Type, t.Cxid = txnlog.CloseSession, 0
			default:
				return nil, fmt.Errorf("line %d: no such operation %q", i+1, w[0])
			}
		}
		if len(t.Ops) == 1 {
			t.Type = t.Ops[0].Type
		}
		all = append(all, t)
	}
	return all, nil
}

// giveLog puts a fixture's transactions into its facts, if they have a layout.
func giveLog(f *evidence.Facts, text string, events []history.Event) ([]history.Event, error) {
	if f.Servers == nil || f.Servers.Missing != "" {
		return events, nil
	}
	txns, err := parseLog(text)
	if err != nil {
		return nil, err
	}
	f.Servers.Ensemble = []string{"zk1", "zk2", "zk3"}
	f.Servers.Servers, f.Servers.History = []string{"zk1", "zk2"}, nodes.Replay(slices.Values(txns))
	return append(events, history.Event{Process: "harness", Op: history.OpClock}), nil
}
