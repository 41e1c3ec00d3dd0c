package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const roleNode = "node"

// nodeLink is the interface by which a node reaches the others.
const nodeLink = "eth0"

const (
	cgroups    = "/sys/fs/cgroup"
	cniPlugins = "/usr/lib/cni"
)

// A node is what the first process of a node knows of it.
type node struct {
	cluster cluster
	n       int
	dir     string
	self    string
	parts   map[int]part // those that run, by process id
}

// A part is a program that a node runs all the time.
type part struct {
	name string
	argv []string
}

// runNode is the first process of a node. It starts the node's parts and restarts those that end.
func runNode(dir, number string) error {
	c, err := load(dir)
	if err != nil {
		return err
	}
	n := node{cluster: c, parts: map[int]part{}}
	if n.n, err = strconv.Atoi(number); err != nil {
		return err
	}
	n.dir = filepath.Join(dir, nodeName(n.n))
	if n.self, err = os.Executable(); err != nil {
		return err
	}
	for _, step := range []func() error{n.mount, n.connect, n.makeGroups, n.writeConfigs, n.startAll} {
		if err := step(); err != nil {
			return err
		}
	}
	return n.supervise()
}

// mount gives the node file systems of its own where its parts write.
func (n node) mount() error {
	if err := syscall.Sethostname([]byte(nodeName(n.n))); err != nil {
		return err
	}
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_SHARED, ""); err != nil {
		return err
	}
	for name, at := range map[string]string{"containerd": "/var/lib/containerd", "kubelet": "/var/lib/kubelet",
		"cni": "/var/lib/cni", "etc": "/etc/cni", "log": "/var/log"} {
		from := filepath.Join(n.dir, name)
		if err := errors.Join(os.MkdirAll(from, 0o755), os.MkdirAll(at, 0o755)); err != nil {
			return err
		}
		if err := syscall.Mount(from, at, "", syscall.MS_BIND, ""); err != nil {
			return fmt.Errorf("mount %s: %w", at, err)
		}
	}
	if err := syscall.Mount("tmpfs", "/run", "tmpfs", 0, "mode=755"); err != nil {
		return err
	}
	if err := os.Mkdir("/run/lock", 0o755); err != nil {
		return err
	}
	return syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_SHARED, "")
}

// connect configures the node's network, once it has its link. No route leads out of the cluster.
func (n node) connect() error {
	ctx, cancel := context.WithTimeout(context.Background(), startCap)
	defer cancel()
	if err := poll(ctx, func() error { _, err := net.InterfaceByName(nodeLink); return err }); err != nil {
		return err
	}
	lines := []string{"link set lo up", "addr add " + nodeAddress(n.n) + "/24 dev " + nodeLink,
		"link set " + nodeLink + " up", "route add " + serviceRange + " dev " + nodeLink}
	for m := 1; m <= n.cluster.Nodes; m++ {
		if m != n.n {
			lines = append(lines, "route add "+nodePodRange(m)+" via "+nodeAddress(m))
		}
	}
	return errors.Join(ip(lines...), os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o644))
}

// group is the control group of all pods of the node.
func (n node) group() string { return "/" + filepath.Base(n.cluster.Dir) + "-" + nodeName(n.n) }

// makeGroups makes that control group in every hierarchy.
func (n node) makeGroups() error {
	hierarchies, err := filepath.Glob(cgroups + "/*")
	if err != nil {
		return err
	}
	for _, h := range hierarchies {
		if st, err := os.Lstat(h); err != nil || !st.IsDir() {
			continue // a link to another one
		}
		if err := os.Mkdir(h+n.group(), 0o755); err != nil {
			return err
		}
	}
	for _, name := range []string{"cpuset.cpus", "cpuset.mems"} { // they are empty at first
		all, err := os.ReadFile(filepath.Join(cgroups, "cpuset", name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(cgroups, "cpuset", n.group(), name), all, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// startAll starts the parts in an order in which each finds what it needs.
func (n node) startAll() error {
	ctx, cancel := context.WithTimeout(context.Background(), startCap)
	defer cancel()
	containerd := part{"containerd", []string{"containerd", "-c", filepath.Join(n.dir, "containerd.toml")}}
	if err := n.start(containerd); err != nil {
		return err
	}
	if n.n == 1 {
		if err := errors.Join(n.start(n.etcd()), n.start(n.apiServer())); err != nil {
			return err
		}
	}
	if err := poll(ctx, func() error { return exec.Command("ctr", "version").Run() }); err != nil {
		return fmt.Errorf("containerd: %w", err)
	}
	for _, a := range n.cluster.Archives {
		// The kubelet looks for images where containerd keeps those of this namespace.
		if out, err := exec.Command("ctr", "-n", "k8s.io", "images", "import", a).CombinedOutput(); err != nil {
			return fmt.Errorf("import %s: %w: %s", a, err, out)
		}
	}
	if err := poll(ctx, apiReady); err != nil {
		return fmt.Errorf("API server: %w", err)
	}
	if n.n == 1 {
		if err := errors.Join(n.start(n.controllerManager()), n.start(n.scheduler())); err != nil {
			return err
		}
	}
	return errors.Join(n.start(n.kubelet()), n.start(n.proxy()))
}

// apiReady asks the API server whether it is ready. Which server answers is not in doubt in the cluster's own network.
func apiReady() error {
	client := http.Client{Timeout: 2 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	resp, err := client.Get(apiServer + "/readyz")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	return nil
}

// start starts a part. It writes to a log in the node's directory.
func (n node) start(p part) error {
	log, err := os.OpenFile(filepath.Join(n.dir, p.name+".log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(p.argv[0], p.argv[1:]...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	n.parts[cmd.Process.Pid] = p
	return nil
}

// restartAfter is how long a part that has ended stays away.
const restartAfter = time.Second

// supervise reaps all processes of the node that have lost their parents, and restarts parts that have ended.
func (n node) supervise() error {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		if err != nil && !errors.Is(err, syscall.EINTR) {
			return err
		}
		if p, is := n.parts[pid]; is {
			delete(n.parts, pid)
			fmt.Fprintf(os.Stderr, "%s ended: %v\n", p.name, status)
			time.Sleep(restartAfter)
			if err := n.start(p); err != nil {
				return err
			}
		}
	}
}

// ownPart returns a part that is linked into this program.
func (n node) ownPart(name string, flags ...string) part {
	return part{name, append([]string{n.self, name}, flags...)}
}

// file returns a file of the cluster's directory.
func (n node) file(name ...string) string {
	return filepath.Join(append([]string{n.cluster.Dir}, name...)...)
}

func (n node) etcd() part {
	return n.ownPart("etcd", "--data-dir", n.file("etcd"), "--unsafe-no-fsync", "--log-level", "warn")
}

func (n node) apiServer() part {
	return n.ownPart("kube-apiserver", "--etcd-servers", "http://127.0.0.1:2379", "--advertise-address", apiAddress,
		"--cert-dir", n.file("pki"), "--service-cluster-ip-range", serviceRange,
		"--service-account-issuer", "https://kubernetes.default.svc", "--service-account-key-file", n.file("sa.pub"),
		"--service-account-signing-key-file", n.file("sa.key"), "--token-auth-file", n.file("tokens.csv"),
		"--authorization-mode", "Node,RBAC", "--kubelet-preferred-address-types", "InternalIP")
}

func (n node) controllerManager() part {
	const name = "kube-controller-manager"
	return n.ownPart(name, "--kubeconfig", n.file(name+".kubeconfig"), "--service-account-private-key-file",
		n.file("sa.key"), "--root-ca-file", n.file("pki", "apiserver.crt"), "--use-service-account-credentials",
		"--leader-elect=false")
}

func (n node) scheduler() part {
	const name = "kube-scheduler"
	return n.ownPart(name, "--kubeconfig", n.file(name+".kubeconfig"), "--leader-elect=false")
}

func (n node) kubelet() part {
	return n.ownPart("kubelet", "--config", filepath.Join(n.dir, "kubelet.yaml"), "--kubeconfig",
		n.file(nodeName(n.n)+".kubeconfig"), "--hostname-override", nodeName(n.n), "--node-ip", nodeAddress(n.n))
}

func (n node) proxy() part {
	return n.ownPart("kube-proxy", "--config", filepath.Join(n.dir, "kube-proxy.yaml"))
}

// writeConfigs writes the files that configure the parts.
func (n node) writeConfigs() error {
	if err := os.MkdirAll(filepath.Join(n.dir, "etc", "net.d"), 0o755); err != nil {
		return err
	}
	values := strings.NewReplacer("@PODS@", nodePodRange(n.n), "@CLUSTER@", podRange, "@GROUP@", n.group(),
		"@NODE@", nodeName(n.n), "@KUBECONFIG@", n.file("kube-proxy.kubeconfig"), "@PLUGINS@", cniPlugins)
	for name, text := range configs {
		if err := os.WriteFile(filepath.Join(n.dir, name), []byte(values.Replace(text)), 0o644); err != nil {
			return err
		}
	}
	return nil
}
