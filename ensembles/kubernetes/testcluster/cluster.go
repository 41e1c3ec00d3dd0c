package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// A cluster is what the processes of one cluster know of it.
type cluster struct {
	Nodes    int
	Skew     time.Duration // of the monotonic clocks of all nodes but the first
	Dir      string        // has everything that is written to a disk
	Archives []string      // of images

	adminToken string
}

// The files in a cluster's directory.
const (
	clusterFile = "cluster.json"
	adminFile   = "admin.kubeconfig"
	imagesDir   = "images"
)

// EnvDir is the variable by which the command learns the cluster's directory, which has the logs of all parts.
const EnvDir = "TESTCLUSTER_DIR"

const dirPattern = "locklab-testcluster-*"

// startCap bounds the start of a cluster. Most of it is the import of images.
const startCap = 3 * time.Minute

// around starts the cluster, runs the command and removes the cluster. It returns the command's exit code.
func (c *cluster) around(archives, binaries, command []string) (code int, err error) {
	if err := c.check(); err != nil {
		return 1, err
	}
	sweep()
	if c.Dir, err = os.MkdirTemp("", dirPattern); err != nil {
		return 1, err
	}
	held, err := lock(c.Dir)
	if err != nil {
		return 1, err
	}
	defer held.Close()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	begun := time.Now()
	first, err := c.start(archives, binaries)
	if err != nil {
		return 1, errors.Join(err, remove(c.Dir))
	}
	defer func() {
		_ = first.Process.Kill() // and everything in the cluster with it
		_ = first.Wait()
		err = errors.Join(err, remove(c.Dir))
	}()
	if err := c.serve(first.Process.Pid); err != nil {
		return 1, err
	}
	if err := c.awaitNodes(ctx); err != nil {
		return 1, fmt.Errorf("%w\n%s", err, c.lastWords())
	}
	fmt.Fprintf(os.Stderr, "testcluster: %d node(s) ready after %.1f s\n", c.Nodes, time.Since(begun).Seconds())
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 20 * time.Second // then it is killed
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), "KUBECONFIG="+filepath.Join(c.Dir, adminFile), EnvDir+"="+c.Dir)
	err = cmd.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return max(exit.ExitCode(), 1), nil
	}
	return 0, err
}

// programs are those of the machine that a cluster needs, with the packages that have them in Debian.
var programs = map[string]string{"containerd": "containerd", "ctr": "containerd", "runc": "runc", "ip": "iproute2",
	"nft": "nftables", "unshare": "util-linux", cniPlugins + "/bridge": "containernetworking-plugins"}

// check says what the machine lacks.
func (c *cluster) check() error {
	var errs []error
	for p, pkg := range programs {
		if _, err := exec.LookPath(p); err != nil {
			errs = append(errs, fmt.Errorf("%w; on Debian, as root: apt-get install %s", err, pkg))
		}
	}
	if os.Geteuid() != 0 {
		errs = append(errs, errors.New("a cluster needs root's rights"))
	}
	if _, err := os.Stat(cgroups + "/memory"); err != nil {
		errs = append(errs, fmt.Errorf("a cluster needs control groups of version 1: %w", err))
	}
	return errors.Join(errs...)
}

// start prepares the directory and starts the first process, of which all others descend.
func (c *cluster) start(archives, binaries []string) (*exec.Cmd, error) {
	if err := c.prepare(archives, binaries); err != nil {
		return nil, err
	}
	text, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(c.Dir, clusterFile), text, 0o600); err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(c.Dir, "switch.log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	first := exec.Command("/proc/self/exe", roleSwitch, c.Dir)
	first.Stdout, first.Stderr = log, log
	first.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true,
		Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID}
	return first, first.Start()
}

// load reads what start wrote.
func load(dir string) (c cluster, err error) {
	text, err := os.ReadFile(filepath.Join(dir, clusterFile))
	if err != nil {
		return c, err
	}
	return c, json.Unmarshal(text, &c)
}

// awaitNodes waits until all nodes are ready and pods can be made.
func (c *cluster) awaitNodes(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startCap)
	defer cancel()
	return poll(ctx, func() error {
		cfg, err := clientcmd.BuildConfigFromFlags("", filepath.Join(c.Dir, adminFile))
		if err != nil {
			return err
		}
		api, err := kubernetes.NewForConfig(cfg)
		if err != nil {
			return err
		}
		nodes, err := api.CoreV1().Nodes().List(ctx, meta.ListOptions{})
		if err != nil {
			return err
		}
		ready := 0
		for _, n := range nodes.Items {
			for _, s := range n.Status.Conditions {
				if s.Type == core.NodeReady && s.Status == core.ConditionTrue {
					ready++
				}
			}
		}
		if ready < c.Nodes {
			return fmt.Errorf("%d of %d nodes are ready", ready, c.Nodes)
		}
		_, err = api.CoreV1().ServiceAccounts(meta.NamespaceDefault).Get(ctx, "default", meta.GetOptions{})
		return err
	})
}

// poll calls do until it succeeds.
func poll(ctx context.Context, do func() error) error {
	t := time.NewTicker(50 * time.Millisecond)
	defer t.Stop()
	for {
		err := do()
		if err == nil {
			return nil
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
	}
}

// lastWords returns the ends of the cluster's logs.
func (c *cluster) lastWords() string {
	var all strings.Builder
	_ = filepath.WalkDir(c.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == "containerd" || d.Name() == "kubelet" || d.Name() == "etcd") {
			return fs.SkipDir
		}
		if filepath.Ext(path) != ".log" {
			return nil
		}
		b, err := os.ReadFile(path)
		if err == nil && len(b) > 0 {
			fmt.Fprintf(&all, "== %s\n%s\n", path, b[max(0, len(b)-1500):])
		}
		return err
	})
	return all.String()
}

// lock locks a cluster's directory until the file is closed.
func lock(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// sweep removes what killed testclusters left.
func sweep() {
	dirs, _ := filepath.Glob(filepath.Join(os.TempDir(), dirPattern))
	for _, dir := range dirs {
		if st, err := os.Stat(dir); err != nil || time.Since(st.ModTime()) < time.Minute {
			continue // perhaps of one that is just starting, and has not locked it yet
		}
		if f, err := lock(dir); err == nil {
			_ = remove(dir)
			f.Close()
		}
	}
}

// remove removes the directory and the control groups of a cluster whose processes have ended.
func remove(dir string) error {
	groups, _ := filepath.Glob(cgroups + "/*/" + filepath.Base(dir) + "-*")
	for _, g := range groups {
		var all []string
		_ = filepath.WalkDir(g, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				all = append(all, path)
			}
			return nil
		})
		for _, path := range slices.Backward(all) { // a directory comes after those in it
			_ = os.Remove(path)
		}
	}
	return os.RemoveAll(dir)
}
