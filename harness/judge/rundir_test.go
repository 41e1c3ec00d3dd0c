package judge

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"locklab/ensembles/txnlog"
	"locklab/harness/history"
	"locklab/harness/rundir"
	"locklab/harness/scenario"
	"locklab/reports/result"
)

// A madeRun says what the run directory of a short run is to be like: four clients in two processes take turns with one
// lock, and each acquisition takes 10 ms.
type madeRun struct {
	id      string
	section string
	// overlap makes one client's znode vanish 8 ms before the client calls release, for no reason. The client and its
	// successor then believe at once that they hold the lock.
	overlap bool
	// killed makes a fault kill process c1 in the middle of the run, and start it again.
	killed bool
	// elsewhere makes the history say that the fault struck process c2.
	elsewhere bool
	// stranger makes the transaction logs have a znode of a session in the lock's queue that no client recorded.
	stranger bool
	// dropped is how many of the last transactions no log has.
	dropped int
	// unmarked makes a directory of format 1.
	unmarked bool
}

const (
	base     = int64(1e9) // of the run, on CLOCK_MONOTONIC
	began    = int64(1_700_000_000_000)
	turn     = int64(10 * time.Millisecond)
	turns    = 24
	since    = int64(1<<32 + 100)
	theLock  = "/run1/lock0"
	overlaps = turns/2 + 1 // the turn that overlaps the next, which is the other process's
)

// A recorder of one host's files.
type hostFile struct {
	t      *testing.T
	run    madeRun
	host   string
	name   string
	frames []byte
	count  int64
	sum    uint64 // of the frames' checksums
}

func (f *hostFile) add(at int64, e history.Event) {
	e.At = base + at
	if e.Process == "" {
		e.Process = f.host
	}
	frame := history.Encode(e)
	f.frames = append(f.frames, frame...)
	f.count++
	f.sum += uint64(binary.LittleEndian.Uint32(frame[4:]))
}

// write writes the file, and an end mark if the process ended as it was asked to.
func (f *hostFile) write(dir string, ended bool) history.Received {
	f.t.Helper()
	file := f.host + "/" + f.name
	var b []byte
	if f.host != rundir.HarnessHost && !f.run.unmarked {
		b = history.Encode(history.Event{At: base, Process: f.host, Op: history.OpHeading, Target: file, Detail: f.run.id})
	}
	b = append(b, f.frames...)
	if ended && !f.run.unmarked {
		b = append(b, history.Encode(history.Event{At: base + turn*(turns+20), Process: f.host, Op: history.OpEndMark,
			Value: f.count, Detail: strconv.FormatUint(f.sum, 16)})...)
	}
	path := filepath.Join(rundir.HostsDir(dir), file)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, b, 0o644)); err != nil {
		f.t.Fatal(err)
	}
	return history.Received{File: file, Bytes: int64(len(b))}
}

// make writes the run directory.
func (m madeRun) make(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	src := fmt.Sprintf("name: made\nclients: 4\nclient-processes: 2\nservers: 3\nsection: %s\nmin-acquired: 10\n"+
		"expect: {liveness: any}\n", m.section)
	if m.killed {
		src += "faults:\n  - {kind: kill, target: c1, at: 100ms, for: 100ms}\n"
	}
	sc, err := scenario.Load("made.yaml", []byte(src))
	if err == nil {
		err = rundir.CreateDir(dir, sc, sc.Plan(nil), result.Begun(sc))
	}
	env := rundir.Env{Format: rundir.Format, Run: m.id, StartedUnixNs: began * 1e6}
	if m.unmarked {
		env.Format, env.Run = 0, ""
	}
	if err == nil {
		err = rundir.WriteEnv(dir, env)
	}
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]*hostFile{}
	file := func(host, name string) *hostFile {
		if files[host+name] == nil {
			files[host+name] = &hostFile{t: t, run: m, host: host, name: name}
		}
		return files[host+name]
	}
	harness := file(rundir.HarnessHost, "000000.hist")
	run := m.id
	if m.unmarked {
		run = ""
	}
	begin := history.Begins(base, sc.Name, run)
	begin.At = 0
	harness.add(0, begin)
	harness.add(1, history.PhaseBegins(0, history.PhaseConnect))
	harness.add(1, history.WallClock{Wall: began * 1e6}.Event(0))
	harness.add(2, history.PhaseBegins(0, history.PhaseMeasure))
	agents := []string{"zk1", "zk2", "zk3", "c1", "c2", "r1"}
	for _, h := range agents {
		file(h, rundir.AgentHistory)
	}
	state := func(host string, at int64, s history.ProcessState, how string) {
		file(host, rundir.AgentHistory).add(at, history.ProcessChange{State: s, PID: 7, Detail: how}.Event())
	}
	for _, h := range []string{"c1", "c2", "r1"} {
		state(h, 1, history.ProcessStarted, "")
		file(h, rundir.ProcessHistory(1)).add(2, history.Ready(2))
	}
	session := func(client int) history.SessionID { return history.SessionID(0x100 + client) }
	connect := func(name string, at int64, client int) {
		host := fmt.Sprintf("c%d", client/2+1)
		file(host, name).add(at, history.SessionChange{Op: history.OpConnected, Client: fmt.Sprintf("%s/%d", host, client%2),
			Session: session(client), Server: "zk1", Timeout: 4 * time.Second}.Event())
	}
	for client := range 4 {
		connect(rundir.ProcessHistory(1), 2, client)
	}
	var txns []txnlog.Txn
	zxid := since
	txn := func(at int64, s history.SessionID, op txnlog.Op) int64 {
		zxid++
		txns = append(txns, txnlog.Txn{Zxid: zxid, Session: int64(s), Cxid: int32(zxid & 0xffff), Time: began + at/1e6,
			Type: op.Type, Ops: []txnlog.Op{op}})
		return zxid
	}
	create := func(at int64, s history.SessionID, path string) int64 {
		return txn(at, s, txnlog.Op{Type: txnlog.Create, Path: path, Ephemeral: true, ACL: txnlog.OpenToAll()})
	}
	records := map[string]string{"c1": rundir.ProcessHistory(1), "c2": rundir.ProcessHistory(1)}
	for n := range turns {
		at := turn * int64(n+1)
		client := n % 4
		host := fmt.Sprintf("c%d", client/2+1)
		if m.killed && n == turns/4*2 {
			// Between two turns, c1 is killed and started again.
			struck := "c1"
			if m.elsewhere {
				struck = "c2"
			}
			kill := func(op history.Op, kind history.Kind, at int64) {
				harness.add(at, history.FaultStep{Op: op, ID: "f1", Fault: "kill", Hosts: []string{struck}}.Event(kind))
			}
			kill(history.OpFaultInject, history.Invoke, at+1000)
			state("c1", at+2000, history.ProcessExited, "signal: killed")
			kill(history.OpFaultInject, history.OK, at+3000)
			kill(history.OpFaultVerify, history.OK, at+4000)
			state("c1", at+5000, history.ProcessStarted, "")
			kill(history.OpFaultHeal, history.OK, at+6000)
			kill(history.OpFaultHealVerify, history.OK, at+7000)
			records["c1"] = rundir.ProcessHistory(2)
			file("c1", records["c1"]).add(at+8000, history.Ready(2))
			for again := range 2 {
				connect(records["c1"], at+9000, again)
			}
		}
		mine, shared := file(host, records[host]), file("r1", rundir.ProcessHistory(1))
		ms := func(v float64) int64 { return at + int64(v*1e6) }
		claim := history.Claim{Client: fmt.Sprintf("%s/%d", host, client%2), Acq: int64(1 + n/4), Lock: theLock}
		mine.add(ms(1), claim.Acquire())
		prefix := fmt.Sprintf("_c_%032x-lock-", n)
		mine.add(ms(1.5), claim.Attempt(prefix))
		znode := fmt.Sprintf("%s/%s%010d", theLock, prefix, n)
		claim.Token, claim.Session = create(ms(2), session(client), znode), session(client)
		mine.add(ms(2.5), claim.Queued(0))
		mine.add(ms(3), claim.Granted())
		if m.section != scenario.SectionNone {
			for i, op := range []history.Op{history.OpEnter, history.OpRead, history.OpWrite, history.OpExit} {
				value := map[history.Op]int64{history.OpRead: int64(n), history.OpWrite: int64(n + 1)}[op]
				access := history.Access{Value: value}
				mine.add(ms(4+0.5*float64(i)), claim.Access(op, history.Invoke, access))
				served := claim.Access(op, history.OK, access)
				served.Process = "r1"
				shared.add(ms(4.1+0.5*float64(i)), served)
				mine.add(ms(4.2+0.5*float64(i)), claim.Access(op, history.OK, access))
			}
		}
		release := ms(8)
		if m.overlap && n == overlaps {
			release = ms(17)
		}
		mine.add(release, claim.Release())
		txn(ms(9), session(client), txnlog.Op{Type: txnlog.Delete, Path: znode})
		mine.add(release+int64(15e5), claim.Released(history.OK, ""))
	}
	end := turn * (turns + 5)
	if m.stranger {
		path := theLock + "/_c_" + strings.Repeat("f", 32) + "-lock-0000009999"
		create(end-2e6, 0x777, path)
		txn(end-1e6, 0x777, txnlog.Op{Type: txnlog.Delete, Path: path})
	}
	harness.add(end, history.PhaseBegins(0, history.PhaseDrain))
	for _, h := range []string{"c1", "c2"} {
		file(h, records[h]).add(end+1e6, history.Done())
	}
	harness.add(end+2e6, history.PhaseBegins(0, history.PhaseCollect))
	for _, h := range []string{"c1", "c2", "r1"} {
		state(h, end+3e6, history.ProcessExited, "exit status 0")
	}
	for i := range 3 {
		at := end + int64(4e6)
		path := fmt.Sprintf("/locklab-ready-%010d", i)
		create(at, history.SessionID(0x900+i), path)
		txn(at, history.SessionID(0x900+i), txnlog.Op{Type: txnlog.Delete, Path: path})
	}
	log := txnlog.Encode(txns[:len(txns)-m.dropped])
	for _, server := range []string{"zk1", "zk2", "zk3"} {
		logs := rundir.TxnLogDir(dir, server)
		err := errors.Join(os.MkdirAll(logs, 0o755),
			os.WriteFile(filepath.Join(logs, fmt.Sprintf("log.%x", since+1)), log, 0o644))
		if err != nil {
			t.Fatal(err)
		}
		copied := history.ServerLog{Server: server, Bytes: int64(len(log)), LastZxid: zxid}
		if m.unmarked {
			copied.LastZxid = 0
		}
		harness.add(1, history.ServerLog{Server: server, LastZxid: since}.Event(history.Info))
		harness.add(end+5e6, copied.Event(history.OK))
	}
	harness.add(end+5e6, history.WallClock{Wall: began*1e6 + end + 5e6}.Event(0))
	for _, f := range files {
		if f.host == rundir.HarnessHost {
			continue
		}
		ended := f.name != rundir.AgentHistory && (f.host == "r1" || f.name == records[f.host])
		received := f.write(dir, ended)
		if !m.unmarked {
			harness.add(end+6e6, received.Event(history.OK))
		}
	}
	if !m.unmarked {
		contents, err := rundir.Contents(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range contents {
			harness.add(end+7e6, c.Event())
		}
	}
	harness.add(end+7e6, history.Ends(history.EndComplete, ""))
	harness.write(dir, true)
	return dir
}
