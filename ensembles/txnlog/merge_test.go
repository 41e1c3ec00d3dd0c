package txnlog_test

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"locklab/ensembles/txnlog"
)

// logged returns a log of setData transactions with these zxids.
func logged(zxids ...int64) []byte {
	var all []txnlog.Txn
	for _, z := range zxids {
		all = append(all, set(z, "/a"))
	}
	return file(all...)
}

func set(zxid int64, path string) txnlog.Txn {
	return txnlog.Txn{Zxid: zxid, Session: 7, Type: txnlog.SetData, Ops: []txnlog.Op{{Type: txnlog.SetData, Path: path}}}
}

// server returns a source with a server's only log.
func server(name string, log []byte) txnlog.Source {
	return txnlog.Source{Server: name, Dir: fstest.MapFS{"log.1": {Data: log}}}
}

// merged is what Merge visits and returns.
type merged struct {
	*txnlog.Ensemble
	entries []txnlog.Entry // with their fates in the end
}

func merge(size int, sources ...txnlog.Source) (merged, error) {
	var m merged
	var err error
	m.Ensemble, err = txnlog.Merge(size, func(e *txnlog.Entry) {
		own := *e
		own.Ops = slices.Clone(e.Ops)
		m.entries = append(m.entries, own)
	}, sources...)
	others := m.Others
	for i := range m.entries {
		if e := &m.entries[i]; e.Fate != txnlog.Committed {
			*e, others = others[0], others[1:]
		}
	}
	return m, err
}

const epoch2, epoch3 = 2 << 32, 3 << 32

var letters = map[txnlog.Fate]string{txnlog.Committed: "c", txnlog.Uncommitted: "u", txnlog.Undecided: "?"}

func TestFates(t *testing.T) {
	for _, c := range []struct {
		name string
		size int
		logs [][]byte
		want string
	}{
		{"one server", 1, [][]byte{logged(1, 2)}, "1c 2c"},
		{"equal logs", 3, [][]byte{logged(1, 2), logged(1, 2), logged(1, 2)}, "1c 2c"},
		{"a majority", 3, [][]byte{logged(1, 2), logged(1, 2), logged(1)}, "1c 2c"},
		{"a tail on a minority", 3, [][]byte{logged(1, 2, 3), logged(1), logged(1)}, "1c 2u 3u"},
		{"logs that begin later", 3, [][]byte{logged(1, 2, 3), logged(3), logged(3)}, "1c 2c 3c"},
		{"a tail that survived a change of leader", 3,
			[][]byte{logged(1, 2, epoch2+1), logged(1, epoch2+1), logged(1, epoch2+1)}, "1c 2? 200000001c"},
		{"before such a tail, a majority commits", 3, [][]byte{logged(1, 2, epoch2+1), logged(1, 2), logged(epoch2 + 1)},
			"1c 2c 200000001c"},
		{"a later transaction commits earlier ones of its own epoch only", 3,
			[][]byte{logged(1, epoch2+1, epoch2+2, epoch3+1), logged(epoch2+2, epoch3+1), logged(epoch3 + 1)},
			"1? 200000001c 200000002c 300000001c"},
		{"a tail that survived, and the next leader sent a snapshot", 3,
			[][]byte{logged(epoch2+1, epoch2+2, epoch3+3), logged(epoch2+1, epoch3+1, epoch3+2, epoch3+3),
				logged(epoch2+1, epoch3+1, epoch3+2)},
			"200000001c 200000002u 300000001c 300000002c 300000003c"},
		{"the same, but the next leader is unknown", 3,
			[][]byte{logged(epoch2+1, epoch2+2, epoch3+3), logged(epoch2+1, epoch3+2, epoch3+3), logged(epoch2+1, epoch3+2)},
			"200000001c 200000002? 300000002c 300000003c"},
		{"the same, but the next leader may have had the tail", 3,
			[][]byte{logged(epoch2+1, epoch2+2, epoch3+1, epoch3+3), logged(epoch2+1, epoch3+1, epoch3+3),
				logged(epoch2+1, epoch3+1)},
			"200000001c 200000002? 300000001c 300000003c"},
		{"the same, with an epoch in between", 3,
			[][]byte{logged(1, 2, epoch2+3), logged(1, epoch2+1, epoch2+3), logged(1, epoch2+1)},
			"1c 2? 200000001c 200000003c"},
		{"the same, but a log is missing", 3,
			[][]byte{logged(epoch2+1, epoch2+2, epoch3+3), logged(epoch2+1, epoch3+1, epoch3+2, epoch3+3)},
			"200000001c 200000002? 300000001c 300000002c 300000003c"},
		{"a log is missing", 3, [][]byte{logged(1, 2), logged(1)}, "1c 2?"},
		{"two of five", 5, [][]byte{logged(1), logged(1), logged(), logged(), logged()}, "1u"},
		{"two of five, one is missing", 5, [][]byte{logged(1), logged(1), logged(), logged()}, "1?"},
		{"a log cannot be read", 3, [][]byte{logged(1, 2), logged(1), []byte("not a log, but as long as a header")},
			"1c 2?"},
		{"a tail that one server logged after it had joined the next leader", 3,
			[][]byte{logged(1, epoch2+1, 2, epoch2+2), logged(1, 2, epoch2+1, epoch2+2), logged(1, epoch2+1, epoch2+2)},
			"1c 2? 200000001c 200000002c"},
		{"the same, but a majority had logged it in time", 3,
			[][]byte{logged(1, epoch2+1, 2, epoch2+2), logged(1, 2, epoch2+1), logged(1, 2, epoch2+1, epoch2+2)},
			"1c 2c 200000001c 200000002c"},
		{"the same, but that server logged it in time before", 3,
			[][]byte{logged(1, 2, epoch2+1, 2, epoch2+2), logged(1, 2, epoch2+1, epoch2+2),
				logged(1, epoch2+1, epoch2+2)},
			"1c 2c 200000001c 200000002c"},
		{"twice in one log", 3, [][]byte{logged(1, 2, 2, 1), logged(1), logged(1)}, "1c 2u"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var sources []txnlog.Source
			for i, log := range c.logs {
				sources = append(sources, server(fmt.Sprint("zk", i+1), log))
			}
			all, err := merge(c.size, sources...)
			if (err != nil) != strings.Contains(c.name, "cannot be read") {
				t.Error(err)
			}
			var got []string
			for _, e := range all.entries {
				got = append(got, fmt.Sprintf("%x", e.Zxid)+letters[e.Fate])
			}
			if s := strings.Join(got, " "); s != c.want || len(all.Contradictions) > 0 {
				t.Errorf("got %s, want %s; %v", s, c.want, all.Contradictions)
			}
		})
	}
}

func TestContradiction(t *testing.T) {
	wrong := file(set(1, "/a"), set(2, "/b"))
	all, err := merge(3, server("zk1", logged(1, 2)), server("zk2", wrong), server("zk3", logged(1, 2)))
	if err != nil || len(all.Contradictions) != 1 {
		t.Fatalf("%v, %v", all.Contradictions, err)
	}
	const want = "zk1 and zk2 contradict each other: " +
		"zk1/log.1 at byte 75 says zxid 0x2 session 0x7 cxid 0 setData /a, " +
		"zk2/log.1 at byte 75 says zxid 0x2 session 0x7 cxid 0 setData /b"
	if s := all.Contradictions[0].String(); s != want {
		t.Error(s)
	}
	if e := all.entries[1]; !slices.Equal(e.Servers, []string{"zk1", "zk3"}) || e.Fate != txnlog.Committed {
		t.Error(e)
	}
	// The majority wins, whichever log is read first.
	all, err = merge(3, server("zk2", wrong), server("zk1", logged(1, 2)), server("zk3", logged(1, 2)))
	if err != nil || len(all.Contradictions) != 2 {
		t.Fatalf("%v, %v", all.Contradictions, err)
	}
	if e := all.entries[1]; !slices.Equal(e.Servers, []string{"zk1", "zk3"}) || e.Fate != txnlog.Committed ||
		e.Ops[0].Path != "/a" {
		t.Error(e)
	}
	// The two records are on one server each, and a later transaction was committed. It is not known which of the two
	// was committed.
	all, err = merge(3, server("zk1", logged(1, 2, 3)),
		server("zk2", file(set(1, "/a"), set(2, "/b"), set(3, "/a"))), server("zk3", logged(1)))
	if err != nil || len(all.Contradictions) != 1 || all.entries[1].Fate != txnlog.Undecided ||
		all.entries[2].Fate != txnlog.Committed {
		t.Errorf("%v, %v: %v", all.Contradictions, err, all.entries)
	}
	// Digests contradict each other only if both servers wrote one.
	a, b := set(1, "/a"), set(1, "/a")
	a.Digest = &txnlog.Digest{Version: 2, Tree: 1}
	if all, err = merge(3, server("zk1", file(a)), server("zk2", file(b))); err != nil ||
		len(all.Contradictions) > 0 {
		t.Errorf("%v, %v", all.Contradictions, err)
	}
	b.Digest = &txnlog.Digest{Version: 2, Tree: 2}
	if all, err = merge(3, server("zk1", file(a)), server("zk2", file(b))); err != nil ||
		len(all.Contradictions) != 1 {
		t.Errorf("%v, %v", all.Contradictions, err)
	}
}

func TestGaps(t *testing.T) {
	all, err := merge(3, server("zk1", logged(1, 2, 3, 4, 5, 6)), server("zk2", logged(1, 2, 3, 4, 5)),
		server("zk3", logged(2, 5)))
	if err != nil {
		t.Fatal(err)
	}
	// Transactions before a log's first record are not a gap, and those after its last record are not one either.
	if d := cmp.Diff([]txnlog.Gap{{Server: "zk3", After: 2, Before: 5, Missing: 2}}, all.Gaps); d != "" {
		t.Error(d)
	}
}

// All transactions of everyKind differ from each other, except for a refused multi whose types are lost, which may be
// either of two.
func TestSame(t *testing.T) {
	all := everyKind()
	for i, a := range all {
		for k, b := range all {
			b.Zxid, b.Cxid, b.Time = a.Zxid, a.Cxid, a.Time
			if a.Same(b) != (i == k || max(i, k) == 14 && min(i, k) >= 12) {
				t.Errorf("%v and %v: %t", a, b, a.Same(b))
			}
		}
	}
	accepted, refused := all[13], all[14]
	accepted.Ops = []txnlog.Op{accepted.Ops[0], accepted.Ops[0]}
	refused.Zxid, refused.Cxid, refused.Time = accepted.Zxid, accepted.Cxid, accepted.Time
	if accepted.Same(refused) || refused.Same(accepted) {
		t.Error("an accepted multi is the same as a refused one")
	}
	null, empty := set(1, "/a"), set(1, "/a")
	empty.Ops[0].Data = []byte{}
	if null.Same(empty) {
		t.Error("no data is the same as empty data")
	}
}

func TestSeveralFilesOfOneServer(t *testing.T) {
	dir := fstest.MapFS{
		"log.100000001": {Data: logged(0x100000001, 0x100000002)[:16+2*59-4]}, // torn
		"log.ff":        {Data: append(logged(0xff), make([]byte, 4096)...)},
		"log.200000001": {Data: logged(0x200000001)},
		"snapshot.0":    {}, "log.200000001.fixed": {}, "log.0001": {}, "log.FF": {}, "log.": {}, "log.-1": {}, "log.g": {},
		"log.8000000000000000": {},
		"log.300000001":        {Mode: fs.ModeDir},
		"acceptedEpoch":        {Data: []byte("2")},
	}
	if names, err := txnlog.Files(dir); err != nil ||
		!slices.Equal(names, []string{"log.ff", "log.100000001", "log.200000001"}) {
		t.Errorf("%q, %v", names, err)
	}
	all, err := merge(1, txnlog.Source{Server: "zk1", Dir: dir})
	if err != nil || len(all.entries) != 3 || len(all.Torn) != 1 ||
		!strings.Contains(all.Torn[0].Error(), "zk1/log.100000001 at byte 75: ") {
		t.Errorf("%v, %v, %v", all.entries, all.Torn, err)
	}
	// A corrupt file ends the stream, because later records would be out of context.
	dir["log.ff"] = &fstest.MapFile{Data: []byte("this is a text of more than a header")}
	all, err = merge(1, txnlog.Source{Server: "zk1", Dir: dir})
	if !errors.Is(err, txnlog.ErrCorrupt) || len(all.entries) != 0 {
		t.Errorf("%v, %v", all.entries, err)
	}
	for _, dir := range []fs.FS{fstest.MapFS{}, fstest.MapFS{"snapshot.0": {}}} {
		_, err := merge(1, txnlog.Source{Server: "zk1", Dir: dir})
		if !errors.Is(err, txnlog.ErrNoLogs) || !strings.Contains(err.Error(), "zk1") {
			t.Error(err)
		}
	}
	// A caller may stop early.
	for range txnlog.ReadDir(fstest.MapFS{"log.1": {Data: logged(1, 2)}, "log.3": {Data: logged(3)}}, "zk1") {
		break
	}
}
