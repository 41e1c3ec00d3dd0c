package main

import (
	"strings"
	"testing"
)

// The report counts tests, names those that were skipped for another reason than that they are nightly, and shows what
// a failed one printed, also if its process ended before it did.
func TestReport(t *testing.T) {
	var r report
	var out strings.Builder
	r.out = &out
	for _, e := range []event{
		{Action: "output", Package: "a", Test: "TestGood", Output: "    a_test.go:1: quiet\n"},
		{Action: "pass", Package: "a", Test: "TestGood"},
		{Action: "output", Package: "a", Test: "TestLong", Output: "    a_test.go:2: nightly: long; TestGood has it\n"},
		{Action: "skip", Package: "a", Test: "TestLong"},
		{Action: "output", Package: "a", Test: "TestTool", Output: "    a_test.go:3: needs x; install it with: make x\n"},
		{Action: "skip", Package: "a", Test: "TestTool"},
		{Action: "pass", Package: "a", Elapsed: 1.5},
		{Action: "output", Package: "b", Test: "TestBad", Output: "    b_test.go:4: wrong\n"},
		{Action: "fail", Package: "b", Test: "TestBad"},
		{Action: "output", Package: "b", Test: "TestHangs", Output: "panic: test timed out\n"},
		{Action: "fail", Package: "b", Elapsed: 2},
	} {
		r.take(e)
	}
	r.takeRaced(event{Action: "skip", Package: "a", Test: "TestNotShort"})
	r.print()
	const want = "ok  \ta\t1.500s\n" +
		"    b_test.go:4: wrong\n" +
		"panic: test timed out\nFAIL\tb\t2.000s\n" +
		"skipped: TestTool: needs x; install it with: make x\n" +
		"1 passed, 1 failed, 2 skipped\n" +
		"skipped: 1 needs x; install it with: make x; 1 nightly (make test-all)\n"
	if out.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", out.String(), want)
	}
	if !r.failed() {
		t.Error("a suite with a failed test has not failed")
	}
}

// A suite in which no test passed has failed: its lists of packages are wrong.
func TestNothingIsNoPass(t *testing.T) {
	if r := (&report{}); !r.failed() {
		t.Error("a suite without a test has not failed")
	}
}
