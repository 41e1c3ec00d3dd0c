package foreign

import (
	"errors"
	"testing"
	"time"
)

// An answer that cannot be what it seems is refused. Nothing in it is taken for 0.
func TestAnswersThatAreRefused(t *testing.T) {
	for _, line := range []string{
		"granted", "granted 0", "granted -1 5", "granted x 5", "Granted 1 5", "granted\t1 5", "granted 1 5 0x1 7 8",
		"granted 1 5,", "granted 1 ,5", "granted 1 5,,6", "granted 1 -5", "granted 1 5.0", "granted 1 9223372036854775808",
		"granted 1 5 session", "granted 1 5 0x1 soon",
		"queued 1", "queued 1 -", "queued 1 -1", "queued 1 two", "queued 1 2 3",
		"opened 1 0x1 10s", "opened 1 0x1 -1", "opened 1 0x1 9223372036854775807", "opened 1 0x1 10000 zk1:2181 more",
		"timeout", "timeout 1 2", "released 1 done", "closed", "hello 1",
	} {
		if a, err := parse(line); !errors.Is(err, errNoAnswer) {
			t.Errorf("%q: %+v, %v", line, a, err)
		}
	}
}

// What may be left out is 0, and everything else is what the line says.
func TestAnswersThatAreRead(t *testing.T) {
	a, err := parse("opened 7 0xffffffffffffffff 10000 zk1:2181")
	if err != nil || a.id != 7 || a.session != -1 || a.timeout != 10*time.Second || a.server != "zk1:2181" {
		t.Errorf("%+v, %v", a, err)
	}
	a, err = parse("granted 7 - 5 12")
	if err != nil || a.tokens != nil || a.session != 5 || a.at != 12 {
		t.Errorf("%+v, %v", a, err)
	}
	a, err = parse("failed 7 zk: node does not exist")
	if err != nil || a.text != "zk: node does not exist" {
		t.Errorf("%+v, %v", a, err)
	}
}
