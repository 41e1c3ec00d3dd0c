package nodes_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"locklab/ensembles/txnlog"
	"locklab/ensembles/txnlog/nodes"
)

// A lane is computed incrementally. After each transaction it must agree with an oracle that looks only at the znodes
// that exist at that moment.
func TestLaneAgainstAnOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		txns := traffic(t)
		h := nodes.Replay(slices.Values(txns))
		if len(h.Oddities) > 0 {
			t.Fatal(h.Oddities)
		}
		queue := h.Lane(nodes.Children("/l", "__WRIT__", "__READ__"), nodes.First)
		rw := h.Lane(nodes.Children("/l", "__WRIT__", "__READ__"), nodes.ReadWrite)
		there, owner := map[string]bool{}, map[string]int64{}
		for _, txn := range txns {
			for _, o := range txn.Ops {
				there[o.Path], owner[o.Path] = o.Type.Creates(), txn.Session
			}
			for p, id := range owner {
				there[p] = there[p] && (txn.Type != txnlog.CloseSession || id != txn.Session)
			}
			var first, shared []string
			for path, is := range there {
				if !is {
					continue
				}
				before, writers, head := 0, 0, path
				for other, is := range there {
					if is && key(other) < key(head) {
						head = other
					}
					if is && key(other) < key(path) {
						before++
						if strings.Contains(other, "WRIT") {
							writers++
						}
					}
				}
				if before == 0 {
					first = append(first, path)
				}
				own := writers == 1 && strings.Contains(head, "WRIT") && owner[head] == owner[path]
				if before == 0 || (writers == 0 || own) && strings.Contains(path, "READ") {
					shared = append(shared, path)
				}
			}
			for _, c := range []struct {
				lane *nodes.Lane
				want []string
			}{{queue, first}, {rw, shared}} {
				var got []string
				for _, s := range c.lane.At(txn.Zxid) {
					got = append(got, s.Path)
				}
				slices.Sort(got)
				slices.Sort(c.want)
				if !slices.Equal(got, c.want) {
					t.Fatalf("at %d: %q, want %q", txn.Zxid, got, c.want)
				}
			}
		}
	})
}

// key orders paths by their numbers. All marks have the same length, and a writer sorts before a reader.
func key(path string) string {
	seq := path[len(path)-10:]
	return seq + map[bool]string{true: "0", false: "1"}[strings.Contains(path, "WRIT")]
}

// traffic draws sessions that create, delete and downgrade. When a session ends, its znodes end with it, whether or
// not the transaction lists them.
func traffic(t *rapid.T) []txnlog.Txn {
	var all []txnlog.Txn
	owned := map[int64][]string{}
	ids := map[int64]int64{} // the open sessions, by client
	for i := range rapid.IntRange(1, 80).Draw(t, "steps") {
		client := rapid.Int64Range(1, 4).Draw(t, "client")
		id, open := ids[client]
		mine := owned[id]
		txn := txnlog.Txn{Zxid: int64(i + 1), Time: int64(10 * i), Cxid: 1, Session: id}
		switch action := rapid.IntRange(0, 9).Draw(t, "action"); {
		case !open:
			ids[client] = int64(100*i) + client
			txn.Type, txn.Session = txnlog.CreateSession, ids[client]
		case action == 0:
			txn.Type = txnlog.CloseSession
			if rapid.Bool().Draw(t, "listed") {
				txn.Closes = append([]string{}, mine...)
			}
			delete(ids, client)
		case action < 5 && len(mine) > 0:
			k := rapid.IntRange(0, len(mine)-1).Draw(t, "which")
			txn.Type, txn.Ops = txnlog.Multi, []txnlog.Op{{Type: txnlog.Delete, Path: mine[k]}}
			if reader := strings.Replace(mine[k], "WRIT", "READ", 1); reader != mine[k] && rapid.Bool().Draw(t, "downgrade") {
				txn.Ops = append(txn.Ops, txnlog.Op{Type: txnlog.Create2, Path: reader, Ephemeral: true})
				mine[k] = reader
			} else {
				owned[id] = slices.Delete(mine, k, k+1)
			}
		default:
			// The numbers are not always in order, because the counter of a parent that is made again starts at 0.
			path := fmt.Sprintf("/l/__%s__%05d%05d", rapid.SampledFrom([]string{"READ", "WRIT"}).Draw(t, "kind"),
				rapid.IntRange(0, 9).Draw(t, "jump"), i)
			owned[id] = append(mine, path)
			txn.Type, txn.Ops = txnlog.Create, []txnlog.Op{{Type: txnlog.Create, Path: path, Ephemeral: true}}
		}
		all = append(all, txn)
	}
	return all
}
