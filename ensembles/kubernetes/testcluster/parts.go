package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	manager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

// runPart runs a part of Kubernetes, or kubectl, in this process, with those arguments, and returns its exit code. A
// command is made only if it is run, because the commands register the same flags.
func runPart(name string, args []string) int {
	var c *cobra.Command
	switch name {
	case "etcd":
		etcdmain.Main(append([]string{name}, args...))
		return 0
	case "kube-apiserver":
		c = apiserver.NewAPIServerCommand()
	case "kube-controller-manager":
		c = manager.NewControllerManagerCommand()
	case "kube-scheduler":
		c = scheduler.NewSchedulerCommand()
	case "kubelet":
		c = kubelet.NewKubeletCommand(context.Background())
	case "kube-proxy":
		c = proxy.NewProxyCommand()
	case "kubectl": // it reads the program's arguments itself
		os.Args = append([]string{name}, args...)
		c = kubectl.NewDefaultKubectlCommand()
	default:
		return -1
	}
	c.SetArgs(args)
	return cli.Run(c)
}
