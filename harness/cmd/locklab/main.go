package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"locklab/ensembles"
)

func main() {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	ctx := context.Background()
	if os.Args[1] == "agent" {
		if err := (agentCmd{}).Run(ctx, log); err != nil {
			log.Error("x", "err", err)
			os.Exit(1)
		}
		return
	}
	t := time.Now()
	step := func(s string) { fmt.Println(time.Since(t).Round(time.Millisecond), s); t = time.Now() }
	self, _ := os.Executable()
	os.Setenv(ensembles.EnvImage, "locklab-probe:1")
	lab, err := ensembles.StartDocker(ctx, ensembles.DockerConfig{Binary: self, Log: log, Hosts: []ensembles.HostSpec{
		{Name: "zk1"}, {Name: "zk2"}, {Name: "zk3"}, {Name: "c1", Role: ensembles.Client}, {Name: "c2", Role: ensembles.Client}, {Name: "r1", Role: ensembles.Resource}}})
	if err != nil {
		panic(err)
	}
	defer func() { fmt.Println(lab.Close(ctx)); step("closed") }()
	step("lab up")
	e, err := ensembles.StartEnsemble(ctx, lab, ensembles.ServerConfig{Tick: 200 * time.Millisecond, InitLimit: 20, SyncLimit: 5, MinSessionTimeout: 400 * time.Millisecond, MaxSessionTimeout: 4 * time.Second, HeapBytes: 256 << 20})
	if err != nil {
		fmt.Println(err)
		time.Sleep(200 * time.Second)
	}
	step("ensemble up")
	fmt.Println(e.Roles(ctx))
	fmt.Println(e.Version(ctx))
	fmt.Println(len(e.Metrics(ctx)["zk1"]))
	if len(os.Args) > 2 {
		time.Sleep(time.Hour)
	}
}
