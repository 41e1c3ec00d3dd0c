package process

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"

	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/harness/fail"
)

// ErrUnavailable says that a lab of child processes cannot be made here.
var ErrUnavailable = fail.Environment.New("no lab of child processes can be made here")

// Kind makes labs whose hosts are child processes. The zero Kind has servers of its own, which run the Java and the
// ZooKeeper of this machine.
type Kind struct {
	// Elsewhere, if set, is an ensemble that is already there.
	Elsewhere *ensembles.Elsewhere

	_ struct{}
}

// Name and the methods below implement [ensembles.Kind].
func (k Kind) Name() string {
	if k.Elsewhere != nil {
		return ensembles.ElsewhereName
	}
	return ensembles.LabProcess
}

func (Kind) Lacks() agent.Capabilities { return agent.SharedNetwork() }

func (k Kind) Open(ctx context.Context, id string, cfg ensembles.LabConfig) (ensembles.Place, error) {
	p := &place{kind: k, id: id, cfg: cfg, dirs: map[bool]string{}}
	for _, h := range cfg.Hosts {
		if h.Image != "" {
			return nil, fmt.Errorf("%w: host %s needs an image of its own, and a child process of the harness has none; use "+
				"--lab docker", ErrUnavailable, h.Name)
		}
	}
	var err error
	switch {
	case k.Elsewhere == nil:
		p.homes, p.image, err = ensembles.Local(k.Name(), cfg.Hosts)
		if _, ok := errors.AsType[*ensembles.VersionError](err); ok {
			return nil, err
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
	default:
		if err := k.Elsewhere.Check(cfg.Hosts); err != nil {
			return nil, err
		}
	}
	if p.network, p.reserved, err = reserve(ctx, id); err != nil {
		return nil, err
	}
	for _, h := range cfg.Hosts {
		if p.dirs[h.Disk] != "" {
			continue
		}
		if p.dirs[h.Disk], err = os.MkdirTemp(parent(h.Disk), dirPattern); err != nil {
			return nil, errors.Join(err, p.Close(ctx))
		}
	}
	return p, nil
}

// dirPattern is the name of a directory of a lab's data.
const dirPattern = "locklab-process-*"

// memory is where Linux has a file system in memory that every user can write to.
const memory = "/dev/shm"

// parent returns where labs have the directories of hosts with a disk, or of those without.
func parent(disk bool) string {
	if st, err := os.Stat(memory); !disk && err == nil && st.IsDir() {
		return memory
	}
	return os.TempDir()
}

// Clean implements [ensembles.Kind]. Agents remove their own data, so nothing but an empty directory can be left, and
// that only if an agent is killed itself.
func (Kind) Clean(_ context.Context, log *slog.Logger) error {
	for _, disk := range []bool{true, false} {
		dirs, err := filepath.Glob(filepath.Join(parent(disk), dirPattern))
		if err != nil {
			return err
		}
		for _, dir := range dirs {
			if os.Remove(dir) == nil { // only an empty one can be removed so
				log.Info("remove leftover", "name", dir)
			}
		}
	}
	return nil
}

// A network is the part of 127.0.0.0/8 that the hosts of a lab have: 127.a.b.0/24.
type network [2]byte

func (n network) address(i int) netip.Addr {
	return netip.AddrFrom4([4]byte{127, n[0], n[1], byte(10 + i)})
}

// mostHosts is how many hosts a network has room for.
const mostHosts = 240

// reserve finds a network that no other lab uses. It is taken as long as the listener is open.
func reserve(ctx context.Context, id string) (network, io.Closer, error) {
	const tries = 16
	var errs []error
	for i := range tries {
		sum := sha256.Sum256(fmt.Append(nil, id, i))
		n := network{64 + sum[0]%128, sum[1]}
		at := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, n[0], n[1], 1}), reservePort)
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp4", at.String())
		if err == nil {
			return n, l, nil
		}
		errs = append(errs, err)
	}
	return network{}, nil, fmt.Errorf("find a free network on the loopback: %w", errors.Join(errs...))
}

// reservePort is the port by which labs of this machine see which networks are taken.
const reservePort = 7071
