package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"locklab/ensembles"
	"locklab/ensembles/agent/serve"
	"locklab/ensembles/labs"
)

// targets are the servers that both loads are put on, and what removes them.
type targets struct {
	addresses []string
	zooKeeper string
	close     func(context.Context) error
}

// openTargets returns the servers that connect names, or starts three in a lab of processes.
func openTargets(ctx context.Context, connect, binary string, log *slog.Logger) (*targets, error) {
	if connect != "" {
		return &targets{addresses: strings.Split(connect, ","), close: func(context.Context) error { return nil }}, nil
	}
	var hosts []ensembles.HostSpec
	for i := range servers {
		hosts = append(hosts, ensembles.HostSpec{Name: fmt.Sprintf("zk%d", i+1), Role: ensembles.Server})
	}
	lab, err := labs.Start(ctx, ensembles.LabProcess, ensembles.LabConfig{Hosts: hosts, Binary: binary, Log: log})
	if err != nil {
		return nil, err
	}
	t := &targets{close: lab.Close, zooKeeper: lab.Image}
	e, err := ensembles.StartEnsemble(ctx, lab, ensembles.ServerConfig{Tick: tick, SyncLimit: 5,
		MinSessionTimeout: 2 * tick, MaxSessionTimeout: sessionTimeout, HeapBytes: 512 << 20})
	if err != nil {
		once, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		_ = lab.Close(once) // the first error says more
		return nil, err
	}
	for _, s := range e.Addresses() {
		t.addresses = append(t.addresses, s.String())
	}
	return t, nil
}

// processorTime returns how much of the processors the servers have used; false if one of them is not seen.
func (t *targets) processorTime(ctx context.Context) (all time.Duration, seen bool, err error) {
	for _, a := range t.addresses {
		used, err := serve.ServerTime(ctx, a)
		if err != nil || used.PID == 0 {
			return 0, false, err
		}
		all += used.Used
	}
	return all, true, nil
}
