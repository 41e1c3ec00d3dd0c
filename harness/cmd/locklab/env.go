package main

import (
	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/recipes/curator"
)

// otherVariables are the variables that are no keys of a scenario: where images and jars come from, what
// agents are told, and what chooses among tests. A name that ends in _ stands for all that begin so.
var otherVariables = []string{
	ensembles.EnvImage, "LOCKLAB_DEBIAN_MIRROR", curator.EnvJars,
	agent.EnvHost, agent.EnvSecret, agent.EnvLease,
	"LOCKLAB_TEST_", "LOCKLAB_SOAK", "LOCKLAB_STEPS_SEED", "LOCKLAB_TXNLOG_RUNS", "LOCKLAB_BENCH_GATE", "LOCKLAB_BENCH_GATE_TIME",
}
