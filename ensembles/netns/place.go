package netns

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"sync"
	"syscall"

	"locklab/ensembles"
)

// A place is a lab process and its hosts, as the harness sees them.
type place struct {
	id    string
	cfg   ensembles.LabConfig
	image string
	homes map[string]string // by version of ZooKeeper
	dir   string            // has the data of hosts with a disk

	lab       *ensembles.Child
	answers   *json.Decoder
	log       tailBuffer
	sockets   []*os.File
	locations []ensembles.Location

	mu sync.Mutex // held during a request and its answer
}

// A request asks the lab process for a host.
type request struct {
	Host host `json:"host"`
	// Control and Published are the numbers of the inherited sockets; Published is 0 if the host needs none.
	Control   int `json:"control"`
	Published int `json:"published,omitempty"`
}

// An answer tells how a request ended. The lab process also answers once when it is ready.
type answer struct {
	Error string `json:"error,omitempty"`
}

func (p *place) open(ctx context.Context) (err error) {
	defer func() {
		for _, f := range p.sockets {
			f.Close() // the lab process has them
		}
		if err != nil {
			err = errors.Join(err, p.Close(context.WithoutCancel(ctx)))
		}
	}()
	if err := p.listen(ctx); err != nil {
		return err
	}
	if p.dir, err = os.MkdirTemp("", dirPattern); err != nil {
		return err
	}
	if err := p.start(asRoot(os.Geteuid())); err != nil {
		return fmt.Errorf("%w: %w%s", ErrUnavailable, err, hint(err))
	}
	if err := p.receive(); err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return nil
}

// listen opens the sockets that hosts inherit.
func (p *place) listen(ctx context.Context) error {
	open := func() (netip.AddrPort, error) {
		f, address, err := ensembles.ListenFile(ctx, netip.AddrFrom4([4]byte{127, 0, 0, 1}))
		if err == nil {
			p.sockets = append(p.sockets, f)
		}
		return address, err
	}
	for i, h := range p.cfg.Hosts {
		at := ensembles.Location{Address: address(i), Homes: p.homes}
		var err error
		if at.Control, err = open(); err != nil {
			return err
		}
		if h.Publish {
			if at.Published, err = open(); err != nil {
				return err
			}
		}
		p.locations = append(p.locations, at)
	}
	return nil
}

// asRoot returns the namespaces of the lab process. Only root can make them without a user namespace.
func asRoot(uid int) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC,
	}
	if uid != 0 {
		attr.Cloneflags |= syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{HostID: uid, Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}}
	}
	return attr
}

// hint names the setting that may forbid namespaces to a user without root's rights.
func hint(err error) string {
	if os.Geteuid() == 0 || !errors.Is(err, syscall.EPERM) && !errors.Is(err, syscall.ENOSPC) {
		return ""
	}
	return "; as root, allow user namespaces with: sysctl user.max_user_namespaces=10000, and where they exist " +
		"kernel.unprivileged_userns_clone=1 and kernel.apparmor_restrict_unprivileged_userns=0"
}

// start runs the lab process.
func (p *place) start(attr *syscall.SysProcAttr) error {
	// Hosts learn where programs are, and nothing else of the harness's environment.
	var err error
	p.lab, err = ensembles.StartChild(&exec.Cmd{Path: p.cfg.Binary, Args: []string{program(p.id), "netns-lab"},
		SysProcAttr: attr, ExtraFiles: p.sockets, Stderr: &p.log,
		Env: ensembles.Environ("PATH", "JAVA_HOME", "ZOOKEEPER_HOME")})
	if err != nil {
		return err
	}
	p.answers = json.NewDecoder(p.lab.Output)
	return json.NewEncoder(p.lab.Input).Encode(setup{ID: p.id, Dir: p.dir, Binary: p.cfg.Binary})
}

func (p *place) receive() error {
	var a answer
	if err := p.answers.Decode(&a); err != nil {
		return fmt.Errorf("the lab process ended: %w%s", err, p.log.text())
	}
	if a.Error != "" {
		return errors.New(a.Error)
	}
	return nil
}

// Image implements [ensembles.Place].
func (p *place) Image() string { return p.image }

// Start implements [ensembles.Place].
func (p *place) Start(ctx context.Context, i int, env map[string]string) (ensembles.Location, error) {
	spec, at := p.cfg.Hosts[i], p.locations[i]
	r := request{Control: inherited + i, Host: host{Name: spec.Name, Address: at.Address, Env: env, Disk: spec.Disk,
		Files: spec.Files, Names: map[string]netip.Addr{}}}
	for _, v := range spec.Versions {
		if home := p.homes[v]; home != "" {
			r.Host.Homes = append(r.Host.Homes, home)
		}
	}
	for j, h := range p.cfg.Hosts {
		r.Host.Names[h.Name] = p.locations[j].Address
		if j < i && h.Publish {
			r.Control++ // that host's second socket comes before
		}
	}
	if spec.Publish {
		r.Published = r.Control + 1
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if ctx.Err() != nil {
		return ensembles.Location{}, context.Cause(ctx)
	}
	if err := json.NewEncoder(p.lab.Input).Encode(r); err != nil {
		return ensembles.Location{}, err
	}
	return at, p.receive()
}

// Close implements [ensembles.Place]. The lab process ends when its input does, and everything of the lab with it.
func (p *place) Close(ctx context.Context) error {
	var errs []error
	if p.lab != nil {
		errs = append(errs, p.lab.Close(ctx))
	}
	if p.dir != "" {
		errs = append(errs, os.RemoveAll(p.dir))
	}
	return errors.Join(errs...)
}

// A tailBuffer keeps the end of what a process writes to its standard error.
type tailBuffer struct {
	mu  sync.Mutex
	end []byte
}

// Write implements io.Writer.
func (b *tailBuffer) Write(p []byte) (int, error) {
	const most = 4096
	b.mu.Lock()
	defer b.mu.Unlock()
	b.end = append(b.end, p...)
	b.end = b.end[max(0, len(b.end)-most):]
	return len(p), nil
}

func (b *tailBuffer) text() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(bytes.TrimSpace(b.end)) == 0 {
		return ""
	}
	return "; it said:\n" + ensembles.LastLines(string(b.end), 10)
}
