package main

import (
	"os"
	"testing"

	"locklab/harness/scenario"
)

// The upgrades from version to version can be carried out one after the other.
func TestUpgradesAreValid(t *testing.T) {
	trial, newest, err := upgrades("locklab", t.TempDir())
	if err != nil || newest != "3.9.6" {
		t.Fatal(newest, err)
	}
	file := trial.steps[0][2]
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s, err := scenario.Load(file, text)
	if err == nil {
		err = s.Validate()
	}
	if err != nil || len(s.Faults) != 2 {
		t.Errorf("%v in\n%s", err, text)
	}
}
