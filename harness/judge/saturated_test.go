package judge

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"locklab/ensembles/txnlog"
	"locklab/harness/history"
	"locklab/harness/rundir"
	"locklab/harness/scenario"
	"locklab/reports/result"
)

// A saturated says what the run directory of a long run is to be like: clients in two processes ask for one lock again
// and again, so that all of them are always in the queue. Each acquisition leaves 12 events, and the creation and the
// deletion of a znode at the servers.
type saturated struct {
	acquisitions, clients int
	// unknown is the share of acquires that got no answer, in percent. Their znodes are deleted in the queue.
	unknown int
	// without is a run without any lock: all clients are always in the section, and the servers have no znodes.
	without bool
}

// A turn is the time from one grant to the next.
const saturatedTurn = int64(2 * time.Millisecond)

// make writes the run directory.
func (s saturated) make(tb testing.TB, dir string) {
	tb.Helper()
	src := fmt.Sprintf("name: saturated\nclients: %d\nclient-processes: 2\nservers: 3\nmin-acquired: 10\n"+
		"expect: {fairness: any}\n", s.clients)
	if s.without {
		src = strings.Replace(src, "fairness", "belief-exclusion: any, fairness", 1) + "recipe: none\n"
	}
	sc, err := scenario.Load("saturated.yaml", []byte(src))
	if err != nil {
		tb.Fatal(err)
	}
	env := rundir.Env{Format: rundir.Format, Run: "saturated", StartedUnixNs: began * 1e6}
	err = errors.Join(rundir.CreateDir(dir, sc, sc.Plan(nil), result.Begun(sc)), rundir.WriteEnv(dir, env))
	if err != nil {
		tb.Fatal(err)
	}
	r := saturatedRun{saturated: s, tb: tb, dir: dir, files: map[string]*rawFile{}, zxid: since}
	r.write(sc.Name)
}

// A rawFile is a raw history that is being written.
type rawFile struct {
	*bufio.Writer
	file   *os.File
	name   string
	marked bool // it has a heading
	bytes  int64
	count  int64
	last   int64
}

func (f *rawFile) add(at int64, e history.Event) {
	e.At = base + at
	if e.Process == "" {
		e.Process = filepath.Dir(f.name)
	}
	n, _ := f.Write(history.Encode(e)) // bufio keeps the error until Flush
	f.bytes += int64(n)
	f.count++
	f.last = at
}

// close writes an end mark if the process ended as it was asked to.
func (f *rawFile) close(ended bool) error {
	if ended {
		n := f.count
		if f.marked {
			n--
		}
		f.add(f.last, history.Event{Op: history.OpEndMark, Value: n})
	}
	return errors.Join(f.Flush(), f.file.Close())
}

type saturatedRun struct {
	saturated
	tb    testing.TB
	dir   string
	files map[string]*rawFile
	txns  []txnlog.Txn
	zxid  int64
}

func (r *saturatedRun) file(host, name string) *rawFile {
	name = host + "/" + name
	if f := r.files[name]; f != nil {
		return f
	}
	path := filepath.Join(rundir.HostsDir(r.dir), name)
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	var file *os.File
	if err == nil {
		file, err = os.Create(path)
	}
	if err != nil {
		r.tb.Fatal(err)
	}
	f := &rawFile{Writer: bufio.NewWriterSize(file, 1<<16), file: file, name: name, marked: host != rundir.HarnessHost}
	r.files[name] = f
	if f.marked {
		f.add(0, history.Heading{Run: "saturated", File: name}.Event())
	}
	return f
}

func (r *saturatedRun) txn(at int64, s history.SessionID, op txnlog.Op) int64 {
	r.zxid++
	r.txns = append(r.txns, txnlog.Txn{Zxid: r.zxid, Session: int64(s), Cxid: int32(r.zxid & 0xffff),
		Time: began + at/1e6, Type: op.Type, Ops: []txnlog.Op{op}})
	return r.zxid
}

func (r *saturatedRun) create(at int64, s history.SessionID, path string) int64 {
	return r.txn(at, s, txnlog.Op{Type: txnlog.Create, Path: path, Ephemeral: true, ACL: txnlog.OpenToAll()})
}

func (r *saturatedRun) state(host string, at int64, s history.ProcessState, how string) {
	r.file(host, rundir.AgentHistory).add(at, history.ProcessChange{State: s, PID: 7, Detail: how}.Event())
}

// client returns the name of a client, and the record of its process.
func (r *saturatedRun) client(n int) (string, *rawFile) {
	host := fmt.Sprintf("c%d", n%2+1)
	return fmt.Sprintf("%s/%d", host, n/2), r.file(host, rundir.ProcessHistory(1))
}

func (r *saturatedRun) write(scenario string) {
	harness := r.file(rundir.HarnessHost, "000000.hist")
	harness.add(0, history.Event{Op: history.OpBegin, Value: base, Target: "saturated", Detail: scenario})
	for _, e := range []history.Event{history.PhaseBegins(0, history.PhaseConnect),
		history.WallClock{Wall: began * 1e6}.Event(0),
		history.PhaseBegins(0, history.PhaseMeasure)} {
		harness.add(1, e)
	}
	for _, h := range []string{"zk1", "zk2", "zk3"} {
		r.file(h, rundir.AgentHistory)
		harness.add(1, history.ServerLog{Server: h, LastZxid: since}.Event(history.Info))
	}
	for _, h := range []string{"c1", "c2", "r1"} {
		r.state(h, 1, history.ProcessStarted, "")
		r.file(h, rundir.ProcessHistory(1)).add(2, history.Ready(r.clients/2))
	}
	for n := range r.clients {
		name, mine := r.client(n)
		mine.add(2, history.SessionChange{Op: history.OpConnected, Client: name, Session: session(n), Server: "zk1",
			Timeout: 4 * time.Second}.Event())
	}
	// Each turn writes what happens in it, so that every record is in the order of time.
	for n := range r.acquisitions + r.clients {
		r.turn(n)
	}
	end := saturatedTurn * int64(r.acquisitions+r.clients+5)
	harness.add(end, history.PhaseBegins(0, history.PhaseDrain))
	for _, h := range []string{"c1", "c2"} {
		r.file(h, rundir.ProcessHistory(1)).add(end+1e6, history.Done())
	}
	harness.add(end+2e6, history.PhaseBegins(0, history.PhaseCollect))
	for _, h := range []string{"c1", "c2", "r1"} {
		r.state(h, end+3e6, history.ProcessExited, "exit status 0")
	}
	for i := range 3 {
		path := fmt.Sprintf("/locklab-ready-%010d", i)
		r.create(end+4e6, history.SessionID(0x900+i), path)
		r.txn(end+4e6, history.SessionID(0x900+i), txnlog.Op{Type: txnlog.Delete, Path: path})
	}
	log := txnlog.Encode(r.txns)
	for _, server := range []string{"zk1", "zk2", "zk3"} {
		logs := rundir.TxnLogDir(r.dir, server)
		if err := errors.Join(os.MkdirAll(logs, 0o755),
			os.WriteFile(filepath.Join(logs, fmt.Sprintf("log.%x", since+1)), log, 0o644)); err != nil {
			r.tb.Fatal(err)
		}
		harness.add(end+5e6, history.ServerLog{Server: server, Bytes: int64(len(log)), LastZxid: r.zxid}.Event(history.OK))
	}
	harness.add(end+5e6, history.WallClock{Wall: began*1e6 + end + 5e6}.Event(0))
	for _, f := range r.files {
		if f == harness {
			continue
		}
		if err := f.close(filepath.Base(f.name) != rundir.AgentHistory); err != nil {
			r.tb.Fatal(err)
		}
		harness.add(end+6e6, history.Received{File: f.name, Bytes: f.bytes}.Event(history.OK))
	}
	harness.add(end+7e6, history.Ends(history.EndComplete, ""))
	if err := harness.close(true); err != nil {
		r.tb.Fatal(err)
	}
}

func session(client int) history.SessionID { return history.SessionID(0x1000 + client) }

// claim is the claim of the n-th acquisition.
func (r *saturatedRun) claim(n int) history.Claim {
	name, _ := r.client(n % r.clients)
	return history.Claim{Client: name, Acq: int64(1 + n/r.clients), Lock: theLock}
}

func (r *saturatedRun) isUnknown(n int) bool { return r.unknown > 0 && n%100 < r.unknown }

// prefix is what the name of the n-th znode begins with.
func prefix(n int) string { return fmt.Sprintf("_c_%032x-lock-", uint64(n)*0x9e3779b97f4a7c15) }

func znode(n int) string { return fmt.Sprintf("%s/%s%010d", theLock, prefix(n), n) }

// turn writes what happens in the n-th turn: an acquisition is called for, and the one that was called for a round
// earlier is granted and released.
func (r *saturatedRun) turn(n int) {
	at := func(ms float64) int64 { return saturatedTurn*int64(n+1) + int64(ms*1e6) }
	if old := n - r.clients; old >= 0 {
		r.finish(old, at)
	}
	if n >= r.acquisitions {
		return
	}
	claim := r.claim(n)
	_, mine := r.client(n % r.clients)
	mine.add(at(1.5), claim.Acquire())
	if !r.without {
		mine.add(at(1.6), claim.Attempt(prefix(n)))
		r.create(at(1.7), session(n%r.clients), znode(n))
		mine.add(at(1.8), claim.Queued(r.clients-1))
		return
	}
	claim.Session = session(n % r.clients)
	mine.add(at(1.6), claim.Granted())
	r.use(n, claim, at)
}

// finish writes the grant and the release of the n-th acquisition.
func (r *saturatedRun) finish(n int, at func(float64) int64) {
	claim := r.claim(n)
	_, mine := r.client(n % r.clients)
	claim.Session = session(n % r.clients)
	gone := txnlog.Op{Type: txnlog.Delete, Path: znode(n)}
	if r.isUnknown(n) {
		unknown := claim.Acquire()
		unknown.Kind, unknown.Session = history.Info, claim.Session
		mine.add(at(0.1), unknown)
		r.txn(at(0.2), claim.Session, gone)
		return
	}
	if !r.without {
		claim.Token = r.token(n)
		mine.add(at(0.1), claim.Granted())
		r.use(n, claim, at)
	}
	mine.add(at(1), claim.Release())
	if !r.without {
		r.txn(at(1.1), claim.Session, gone)
	}
	mine.add(at(1.2), claim.Released(history.OK, ""))
}

// use writes a read and a write of the counter.
func (r *saturatedRun) use(n int, claim history.Claim, at func(float64) int64) {
	_, mine := r.client(n % r.clients)
	value := int64(n)
	if r.unknown > 0 {
		value = int64(n/100*(100-r.unknown) + max(n%100-r.unknown, 0))
	}
	from := 0.2
	if r.without {
		from = 1.61
	}
	for i, op := range []history.Op{history.OpRead, history.OpWrite} {
		step := func(k int) int64 { return at(from + 0.03*float64(3*i+k)) }
		access := history.Access{Value: value + int64(i)}
		mine.add(step(0), claim.Access(op, history.Invoke, access))
		served := claim.Access(op, history.OK, access)
		served.Process = rundir.ResourceHost
		r.file(rundir.ResourceHost, rundir.ProcessHistory(1)).add(step(1), served)
		mine.add(step(2), claim.Access(op, history.OK, access))
	}
}

// token is the zxid of the creation of the n-th znode. The transactions of a turn are the deletion of the znode of the
// round before and a creation.
func (r *saturatedRun) token(n int) int64 {
	if n < r.clients {
		return since + 1 + int64(n)
	}
	return since + int64(r.clients) + 2*int64(n-r.clients+1)
}
