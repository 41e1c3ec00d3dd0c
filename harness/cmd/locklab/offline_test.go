package main

import (
	"strings"
	"testing"

	"locklab/harness/secondopinion"
)

// A run about which the judges disagree ends with exit code 1, and both opinions are printed.
func TestDisagreement(t *testing.T) {
	agree := secondopinion.Opinion{Question: "did they overlap?", Lock: "/a", Sweep: secondopinion.No,
		Second: secondopinion.No, Operations: 8}
	none, disagree := agree, agree
	none.Second, none.Why = secondopinion.None, "too many"
	disagree.Lock, disagree.Second = "/b", secondopinion.Yes
	var said strings.Builder
	if err := tellOpinions(&said, []secondopinion.Opinion{agree, none}); err != nil {
		t.Error(err)
	}
	err := tellOpinions(&said, []secondopinion.Opinion{agree, disagree})
	if code, shown := codeOf(verdictError{exitHarness, err}); code != exitHarness || shown == nil {
		t.Errorf("exit code %d, %v", code, shown)
	}
	for _, want := range []string{"/b: did they overlap? sweep: no; Porcupine: yes (8 operations", "too many",
		"an opinion on 1 of 2 questions"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("%q is missing in\n%s", want, said.String())
		}
	}
}
