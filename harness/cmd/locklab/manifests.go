package main

import (
	"locklab/ensembles"
	"locklab/ensembles/kubernetes"
)

type manifestsCmd struct {
	Print manifestsPrintCmd `cmd:"" help:"Print what an administrator applies so that labs can be made in a cluster."`
}

type manifestsPrintCmd struct {
	Hosts bool `help:"Print what a run applies for a server and for a client process instead."`
}

// Run prints manifests. It asks no cluster anything.
func (c manifestsPrintCmd) Run(std streams) error {
	if !c.Hosts {
		return kubernetes.WriteAccess(std.Out)
	}
	return kubernetes.WriteHosts(std.Out, ensembles.HostSpec{Name: "zk1", Disk: true},
		ensembles.HostSpec{Name: "c1", Role: ensembles.Client})
}
