package main

import (
	"context"
	"os/exec"
	"testing"
)

// An interrupt ends what the command has started: a shell waits for the program that it runs, as the go command does.
func TestAnInterruptReachesTheTests(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	// Some shells report on their standard error that what they started was terminated.
	const tests = `exec 2>/dev/null; trap : TERM
		sh -c 'echo "{\"Output\": \"begun\"}"; exec sleep 20' && echo '{"Output": "ended"}'`
	seen := ""
	if err := follow(exec.CommandContext(ctx, "sh", "-c", tests), 0, func(e event) {
		seen += e.Output
		cancel()
	}); err != nil {
		t.Fatal(err)
	}
	if seen != "begun" {
		t.Errorf("the program printed %q, so it was not interrupted", seen)
	}
}
