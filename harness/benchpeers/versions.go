package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"locklab/ensembles/debian"
	"locklab/ensembles/docker"
	"locklab/recipes/curator"
	"locklab/reports/figures"
)

// roleVersions is the first argument of what tries each version of ZooKeeper.
const roleVersions = "versions"

// A trial is what is tried with a version of ZooKeeper: commands, of which the first that fails ends it.
type trial struct {
	what  string
	steps [][]string
}

// trials lists what is tried with a version. Run directories go to dir.
func trials(binary, dir, version string) []trial {
	runs := 0
	run := func(scenario string, args ...string) []string {
		runs++
		out := filepath.Join(dir, fmt.Sprintf("%s-%d", version, runs))
		return append([]string{binary, "run", scenario, "--out", out}, args...)
	}
	test := func(args ...string) []string { return append([]string{"go", "test", "-count=1"}, args...) }
	all := []trial{
		{"`make demo`", [][]string{{binary, "demo", "--out", filepath.Join(dir, version+"-demo")}}},
		{"faults conform (`TestFaultsConform`)", [][]string{test("-timeout", "40m", "-run", "TestFaultsConform",
			"./harness/run")}},
	}
	for _, scenario := range []string{"mutex", "mutex-pause", "mutex-server-kill", "read-write", "semaphore"} {
		all = append(all, trial{"`locklab run " + scenario + "`", [][]string{run(scenario)}})
	}
	logged := run("leader-failover")
	all = append(all, trial{"its logs are read as ZooKeeper's own tool reads them", [][]string{logged,
		{"env", "LOCKLAB_TXNLOG_RUNS=" + logged[4], "go", "test", "-count=1", "-run", "TestRunsAgreeWithZooKeepersTool",
			"./ensembles/txnlog"}}})
	for _, of := range curator.Versions {
		all = append(all, trial{"`mixed-curator` with Curator " + of,
			[][]string{run("mixed-curator", "--recipe", "mutex,curator-mutex@"+of)}})
	}
	return append(all, trial{"the gallery: every known bug shows", [][]string{{binary, "repro", "--all", "--attempts", "6",
		"--out", filepath.Join(dir, version+"-gallery")}}})
}

// upgrades is the upgrade of servers under load from the oldest version to the newest, each in turn.
func upgrades(binary, dir string) (t trial, newest string, err error) {
	var versions []string
	for _, v := range debian.Versions {
		versions = append(versions, v.Number)
	}
	slices.Sort(versions)
	newest = versions[len(versions)-1]
	text := fmt.Sprintf("workload: mutex\nclients: 16\nhold: 5ms\nduration: %ds\nzookeeper: %s\n"+
		"faults:\n", 25*len(versions), versions[0])
	for i, v := range versions[1:] {
		text += fmt.Sprintf("  - {kind: upgrade, target: all, to: %s, at: %ds}\n", v, 5+25*i)
	}
	file := filepath.Join(dir, "upgrades.yaml")
	what := "upgrade " + strings.Join(versions, " → ") + " under load"
	run := []string{binary, "run", file, "--out", filepath.Join(dir, "upgrades")}
	return trial{what, [][]string{run}}, newest, os.WriteFile(file, []byte(text), 0o644)
}

// tryVersions tries everything with each version that this revision has not been tried with, and keeps what came of it.
func tryVersions(ctx context.Context, args []string) (err error) {
	flags := flag.NewFlagSet("benchpeers versions", flag.ContinueOnError)
	length := flags.Duration("for", 3*time.Hour, "nothing begins after this time")
	binary := flags.String("binary", "bin/locklab", "the locklab binary")
	if err := flags.Parse(args); err != nil {
		return err
	}
	until := time.Now().Add(*length)
	program, err := filepath.Abs(*binary)
	if err != nil {
		return err
	}
	revision, err := revisionOf(ctx, program)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "locklab-versions-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	done, err := figures.ReadTrials(".")
	if err != nil {
		return err
	}
	one := func(t trial, version string) error {
		if slices.ContainsFunc(done, func(d figures.Trial) bool {
			return d.What == t.what && d.ZooKeeper == version && d.Locklab == revision
		}) {
			return nil
		}
		if time.Now().After(until) {
			fmt.Fprintf(os.Stderr, "%s, %s: no time is left\n", t.what, version)
			return nil
		}
		begun := time.Now()
		code, said, err := perform(ctx, t.steps, version)
		if err != nil {
			return err
		}
		took := time.Since(begun)
		fmt.Fprintf(os.Stderr, "%s, %s: %d in %.0f s: %s\n", t.what, version, code, took.Seconds(), said)
		return figures.AppendTrial(".", figures.Trial{SchemaVersion: figures.SchemaVersion, What: t.what,
			ZooKeeper: version, Begun: begun.UTC(), TookS: took.Seconds(), Locklab: revision, Exit: code, Said: said})
	}
	for _, v := range debian.Versions {
		for _, t := range trials(program, dir, v.Number) {
			if err := one(t, v.Number); err != nil {
				return err
			}
		}
	}
	t, newest, err := upgrades(program, dir)
	if err != nil {
		return err
	}
	return one(t, newest)
}

// perform carries out the steps with a version, and returns the exit code of the last one and what it said.
func perform(ctx context.Context, steps [][]string, version string) (code int, said string, err error) {
	for _, argv := range steps {
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		cmd.Env = append(os.Environ(), docker.EnvImage+"="+version)
		cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
		cmd.WaitDelay = time.Minute
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		err := cmd.Run()
		if ctx.Err() != nil {
			return 0, "", ctx.Err()
		}
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			return exit.ExitCode(), headline(out.String()), nil
		} else if err != nil {
			return 0, "", err
		}
		said = headline(out.String())
	}
	return 0, said, nil
}

// headline returns the line of an output that says what came of it: a verdict, or the last line.
func headline(output string) string {
	lines := slices.DeleteFunc(strings.Split(output, "\n"), func(l string) bool { return strings.TrimSpace(l) == "" })
	if len(lines) == 0 {
		return "nothing"
	}
	chosen := lines[len(lines)-1]
	for _, line := range lines {
		for _, verdict := range []string{"pass:", "fail:", "unknown:", "damage shown", "caught "} {
			if strings.HasPrefix(strings.ToLower(line), verdict) {
				chosen = line
			}
		}
	}
	const most = 300
	if r := []rune(chosen); len(r) > most {
		chosen = string(r[:most]) + "…"
	}
	return strings.ReplaceAll(strings.TrimSpace(chosen), "|", `\|`)
}
