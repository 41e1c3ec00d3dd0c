package client

import (
	"strings"
	"testing"

	"locklab/ensembles/txnlog/nodes"
	"locklab/workloads"
	"locklab/workloads/control"
)

// A layout that the command declares must be the scenario's, if that has one, and go with the workload.
func TestDeclaredLayoutMustFit(t *testing.T) {
	for _, tt := range []struct {
		declared, scenario nodes.Layout
		workload, want     string
	}{
		{"queue", "", workloads.Mutex, ""},
		{"queue", "queue", workloads.Mutex, ""},
		{"", "queue", workloads.Mutex, ""},
		{"queue", "lock-#", workloads.Mutex, "greets with layout queue, but the scenario says layout lock-#"},
		{"queue", "", workloads.Semaphore, "workload semaphore has permits"},
		{"semaphore", "", workloads.Semaphore, ""},
	} {
		err := fitsLayout(tt.declared, config{control.ClientConfig{Layout: tt.scenario, Workload: tt.workload}})
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v", tt, err)
		}
	}
}
