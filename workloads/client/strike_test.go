package client

import (
	"encoding/binary"
	"net"
	"strings"
	"testing"

	"locklab/harness/history"
	"locklab/workloads/control"
)

// The process that tells a client to end its session does not know whether the client has one. A client without a
// session records that, and goes on.
func TestStrikeWithoutASession(t *testing.T) {
	dir := t.TempDir()
	rec, err := history.NewRecorder(dir, "c1", history.NewClock())
	if err != nil {
		t.Fatal(err)
	}
	p := newProcess(t)
	p.rec = rec
	lines := []string{
		control.FormatStrike("f1", control.StrikeExpire, "c1/0"),
		control.FormatStrike("f2", control.StrikeMove, "c1/99"),
		control.FormatSettle("f2"),
		control.FormatArm("f3", control.BetweenReadAndWrite),
	}
	if err := p.commands(strings.NewReader(strings.Join(lines, "\n"))); err != nil {
		t.Fatal(err)
	}
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	events := recorded(t, dir)
	var got []string
	for _, e := range events {
		if e.Op != history.OpStrike || e.Kind != history.Fail || !strings.Contains(e.Detail, "no session") {
			t.Errorf("recorded %v", e)
		}
		got = append(got, e.Fault+" "+e.Client)
	}
	if strings.Join(got, ", ") != "f1 c1/0, f2 c1/99" {
		t.Errorf("recorded strikes %q", got)
	}
	if armed, _ := p.triggers.take(control.BetweenReadAndWrite); armed.fault != "f3" {
		t.Error("the command after it was not carried out")
	}
}

// A server answers a session that has expired with session number 0. There is then no session that a fault could
// strike.
func TestLinkForgetsAnExpiredSession(t *testing.T) {
	answer := func(session uint64) []byte {
		b := binary.BigEndian.AppendUint32(make([]byte, 4), 2000)
		return append(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(b, session), 16), make([]byte, 16)...)
	}
	l := &link{connect: new(net.Dialer).DialContext}
	l.grant(answer(0x17))
	if session, _ := l.now(); session != 0x17 {
		t.Fatalf("session %s", session)
	}
	l.grant(answer(0)[:9]) // no answer at all
	if session, _ := l.now(); session != 0x17 {
		t.Errorf("session %s after half an answer", session)
	}
	l.grant(answer(0))
	if session, _ := l.now(); session != 0 {
		t.Errorf("session %s after it expired", session)
	}
}
