package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"sync"

	"locklab/ensembles"
	"locklab/ensembles/agent"
)

// A place is the agents of a lab, as the harness sees them.
type place struct {
	kind     Kind
	id       string
	cfg      ensembles.LabConfig
	network  network
	reserved io.Closer
	image    string
	homes    map[string]string // by version of ZooKeeper
	dirs     map[bool]string   // with and without a disk: each has a directory for some of the hosts

	mu     sync.Mutex
	agents []*ensembles.Child
}

// Image implements [ensembles.Place].
func (p *place) Image() string { return p.image }

// Start implements [ensembles.Place].
func (p *place) Start(ctx context.Context, i int, env map[string]string) (ensembles.Location, error) {
	if i >= mostHosts {
		return ensembles.Location{}, fmt.Errorf("a lab on the loopback has room for %d hosts", mostHosts)
	}
	spec, at := p.cfg.Hosts[i], ensembles.Location{Address: p.network.address(i), Homes: p.homes}
	var sockets []*os.File
	defer func() {
		for _, f := range sockets {
			f.Close() // the agent has them
		}
	}()
	listen := func() (netip.AddrPort, error) {
		f, address, err := ensembles.ListenFile(ctx, at.Address)
		if err == nil {
			sockets = append(sockets, f)
		}
		return address, err
	}
	var err error
	if at.Control, err = listen(); err != nil {
		return at, err
	}
	surroundings := agent.Surroundings{Dir: filepath.Join(p.dirs[spec.Disk], spec.Name), Address: at.Address,
		Elsewhere: p.kind.Elsewhere.Of(p.cfg.Hosts, i)}
	if err := errors.Join(os.Mkdir(surroundings.Dir, 0o700), link(surroundings.Dir, spec.Files)); err != nil {
		return at, err
	}
	at.Root = surroundings.Dir
	// Agents learn where programs are, and no secret of this machine's user.
	vars := append(ensembles.Environ("PATH", "HOME", "TMPDIR", "GODEBUG", "JAVA_HOME", "ZOOKEEPER_HOME"),
		fmt.Sprintf("%s=%d", agent.EnvControl, inherited), agent.EnvSurroundings+"=stdin")
	if p.kind.Elsewhere != nil {
		if spec.Role == ensembles.Server {
			if at.Server, err = listen(); err != nil {
				return at, err
			}
			vars = append(vars, fmt.Sprintf("%s=%d", agent.EnvPublished, inherited+1))
		}
	} else if spec.Publish {
		at.Published = netip.AddrPortFrom(at.Address, agent.ClientPort)
	}
	for name, value := range env {
		vars = append(vars, name+"="+value)
	}
	return at, p.run(vars, sockets, surroundings)
}

// link puts links to files of this machine below a directory. A program is not copied, because the file system of the
// directory may forbid to run any.
func link(dir string, files []ensembles.File) error {
	for _, f := range files {
		source, err := filepath.Abs(f.Source)
		if err != nil {
			return err
		}
		target := filepath.Join(dir, f.Target)
		if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
			return err
		}
		if err := os.Symlink(source, target); err != nil {
			return err
		}
	}
	return nil
}

// inherited is the number of the first inherited file.
const inherited = 3

// removeDirs removes the data of all hosts.
func (p *place) removeDirs() error {
	var errs []error
	for _, dir := range p.dirs {
		errs = append(errs, os.RemoveAll(dir))
	}
	return errors.Join(errs...)
}

// run starts an agent. What it has to know, secrets among it, passes through the pipe that it lives by.
func (p *place) run(env []string, sockets []*os.File, s agent.Surroundings) error {
	cmd := &exec.Cmd{Path: p.cfg.Binary, Args: []string{"locklab-" + p.id, "agent"}, Env: env, ExtraFiles: sockets,
		Dir: s.Dir}
	log, err := os.Create(filepath.Join(s.Dir, "agent.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd.Stderr = log
	c, err := ensembles.StartChild(cmd)
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.agents = append(p.agents, c)
	p.mu.Unlock()
	return json.NewEncoder(c.Input).Encode(s)
}

// Close implements [ensembles.Place]. An agent ends when its input does.
func (p *place) Close(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	errs := make([]error, len(p.agents))
	var all sync.WaitGroup
	for i, c := range p.agents {
		all.Go(func() { errs[i] = c.Close(ctx) })
	}
	all.Wait()
	return errors.Join(append(errs, p.reserved.Close(), p.removeDirs())...)
}
