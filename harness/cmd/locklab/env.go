package main

import (
	"cmp"
	"time"

	"locklab/ensembles/agent"
	"locklab/ensembles/debian"
	"locklab/ensembles/docker"
	"locklab/ensembles/kubernetes"
	"locklab/harness/rundir"
	"locklab/recipes/curator"
)

// outVariable sets --out of every command that has the flag.
const outVariable = "LOCKLAB_OUT"

// outDir returns the directory that --out names, or else a new one under runs/ whose name begins so.
func outDir(out, name string) string { return cmp.Or(out, rundir.DefaultDir(name, time.Now())) }

// otherVariables are the variables that do not set a key of a scenario: where results go, where images and jars come
// from, what agents are told, and what chooses among tests. A name that ends in _ stands for every name that begins
// with it.
var otherVariables = append([]string{
	outVariable,
	docker.EnvImage, debian.EnvMirror, curator.EnvJars,
	agent.EnvHost, agent.EnvSecret, agent.EnvLease, agent.EnvControl, agent.EnvPublished,
	agent.EnvSurroundings, agent.EnvElsewhere, agent.EnvCredential, agent.EnvTLS,
	"LOCKLAB_TEST_", "LOCKLAB_SOAK", "LOCKLAB_SOAK_TIME", "LOCKLAB_STEPS_SEED", "LOCKLAB_TXNLOG_RUNS",
	"LOCKLAB_ZKTEST_SEED",
	"LOCKLAB_GATE_CURVE", "LOCKLAB_GATE_CURVE_FOR", "LOCKLAB_GATE_CURVE_MACHINE", "LOCKLAB_GATE_CURVE_WEATHER",
}, kubernetes.Variables...)
