package netns

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/harness/fail"
)

// ErrUnavailable says that this machine cannot have labs of this kind.
var ErrUnavailable = fail.Environment.New("no lab of network namespaces can be made here")

// Kind makes labs of network namespaces. The servers run the Java and the ZooKeeper of this machine.
type Kind struct{}

// Name implements [ensembles.Kind].
func (Kind) Name() string { return ensembles.LabNetns }

// Lacks implements [ensembles.Kind]. Each host has a network of its own.
func (Kind) Lacks() agent.Capabilities { return nil }

// Open implements [ensembles.Kind]. It starts the lab process, which has the network of the lab.
func (k Kind) Open(ctx context.Context, id string, cfg ensembles.LabConfig) (ensembles.Place, error) {
	homes, image, err := ensembles.Local(k.Name(), cfg.Hosts)
	if _, ok := errors.AsType[*ensembles.VersionError](err); ok {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	for v, home := range homes {
		if own := hidden(home); own != "" {
			return nil, &ensembles.VersionError{Version: v, Msg: fmt.Sprintf("%s: hosts have a %s of their own", v, own),
				Hint: "copy the directory elsewhere"}
		}
	}
	for _, h := range cfg.Hosts {
		if h.Image != "" {
			return nil, &ensembles.VersionError{Version: h.Image, Hint: "lab: docker",
				Msg: "a lab of network namespaces runs the files of this machine, and no image " + h.Image}
		}
	}
	if err := ensembles.CheckBinary(cfg.Binary); err != nil {
		return nil, err
	}
	p := &place{id: id, cfg: cfg, image: image, homes: homes}
	if err := p.open(ctx); err != nil {
		return nil, err
	}
	return p, nil
}

// startCap is longer than a lab process takes to lock its directory.
const startCap = 15 * time.Second

// dirPattern is the name of the directory in which the hosts of a lab keep their data on a disk.
const dirPattern = "locklab-netns-*"

// Clean implements [ensembles.Kind]. A lab's processes, networks and mounts end with its first process. Only data on a
// disk can outlive that process, if it was killed itself.
func (Kind) Clean(ctx context.Context, log *slog.Logger) error {
	dirs, err := filepath.Glob(filepath.Join(os.TempDir(), dirPattern))
	if err != nil {
		return err
	}
	var errs []error
	for _, dir := range dirs {
		if st, err := os.Stat(dir); err != nil || time.Since(st.ModTime()) < startCap {
			continue // gone, or perhaps of a lab that is just starting and has not locked it yet
		}
		f, err := lockDir(dir)
		if errors.Is(err, syscall.EWOULDBLOCK) {
			continue // its lab is alive
		}
		if err == nil {
			log.Info("remove leftover", "name", dir)
			err = os.RemoveAll(dir)
			f.Close()
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// lockDir locks a lab's directory until the returned file is closed. If another process has it, the error is
// EWOULDBLOCK.
func lockDir(dir string) (*os.File, error) {
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

// network is the lab's own network. No other network can be reached from it, so all labs can use the same.
var network = netip.MustParsePrefix("10.87.0.0/16")

// address returns the address of the i-th host.
func address(i int) netip.Addr {
	n := i + 10
	return netip.AddrFrom4([4]byte{10, 87, byte(n >> 8), byte(n)})
}
