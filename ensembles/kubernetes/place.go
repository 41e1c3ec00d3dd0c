package kubernetes

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"locklab/ensembles"
	"locklab/ensembles/agent"
)

// Kind makes labs of pods, one for each host.
type Kind struct {
	// Elsewhere, if set, is an ensemble that is already there, and that pods can reach.
	Elsewhere *ensembles.Elsewhere

	_ struct{}
}

// Name implements [ensembles.Kind].
func (k Kind) Name() string {
	if k.Elsewhere != nil {
		return ensembles.ElsewhereName
	}
	return ensembles.LabKubernetes
}

// Lacks implements [ensembles.Kind]. Each pod has a network of its own.
func (Kind) Lacks() agent.Capabilities { return nil }

// Open implements [ensembles.Kind]. It makes nothing, but asks the API server whether all that a lab needs may be made.
func (k Kind) Open(ctx context.Context, id string, cfg ensembles.LabConfig) (ensembles.Place, error) {
	s, err := readSettings()
	if err != nil {
		return nil, err
	}
	if s.elsewhere = k.Elsewhere; s.elsewhere != nil {
		if err := s.elsewhere.Check(cfg.Hosts); err != nil {
			return nil, err
		}
	}
	if err := checkVersions(cfg.Hosts); err != nil {
		return nil, err
	}
	if err := ensembles.CheckBinary(cfg.Binary); err != nil {
		return nil, err
	}
	content, err := os.ReadFile(cfg.Binary)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(content)
	s.image = withTag(s.image, hex.EncodeToString(sum[:6]))
	c, err := openCluster(s)
	if err != nil {
		return nil, err
	}
	if err := c.check(ctx, id, cfg.Hosts[0]); err != nil {
		c.close()
		return nil, err
	}
	p := &place{id: id, cfg: cfg, cluster: c, selector: labelLab + "=" + id}
	p.pods = newPods(c, p.selector, cfg.Log)
	var watching context.Context
	watching, p.stop = context.WithCancel(context.WithoutCancel(ctx))
	p.watching.Go(func() { p.pods.follow(watching) })
	return p, nil
}

// OneVersion says why a lab of pods refuses faults that start servers with another version.
const OneVersion = "a server in a pod runs one image, and no other version later"

// checkVersions refuses versions of ZooKeeper that pods cannot have: a pod runs the one image that it was made with.
func checkVersions(hosts []ensembles.HostSpec) error {
	for _, h := range hosts {
		for i, v := range h.Versions {
			if i > 0 || ensembles.IsDir(v) {
				return &ensembles.VersionError{Version: v,
					Msg:  v + ": " + OneVersion,
					Hint: "an image for each server, or lab: docker"}
			}
		}
	}
	return nil
}

// A place is the Jobs of a lab.
type place struct {
	id       string
	cfg      ensembles.LabConfig
	cluster  *cluster
	selector string // of all objects of the lab
	pods     *pods
	stop     context.CancelFunc
	watching sync.WaitGroup

	mu       sync.Mutex
	forwards []*forward
}

// Image implements [ensembles.Place]. If servers have several images, it names all of them.
func (p *place) Image() string {
	var all []string
	for _, h := range p.cfg.Hosts {
		if image := p.cluster.imageOf(h); h.Role == ensembles.Server && !slices.Contains(all, image) {
			all = append(all, image)
		}
	}
	return cmp.Or(strings.Join(all, ", "), p.cluster.zookeeper)
}

// Start implements [ensembles.Place].
func (p *place) Start(ctx context.Context, i int, env map[string]string) (ensembles.Location, error) {
	spec := p.cfg.Hosts[i]
	env = maps.Clone(env)
	env[agent.EnvLease] = Lease.String()
	if e := p.cluster.elsewhere.Of(p.cfg.Hosts, i); e != nil {
		text, err := json.Marshal(e)
		if err != nil {
			return ensembles.Location{}, err
		}
		env[agent.EnvElsewhere] = string(text)
	}
	job, err := p.cluster.createJob(ctx, p.cluster.job(p.id, spec))
	if err != nil {
		return ensembles.Location{}, err
	}
	if err := p.cluster.createSecret(ctx, secret(p.id, spec, env, job)); err != nil {
		return ensembles.Location{}, err
	}
	// From now on the host starts without help, and its agent's lease bounds its life once it runs.
	if err := p.cluster.extend(ctx, job.Name, startCap); err != nil {
		return ensembles.Location{}, err
	}
	pod, err := p.pods.await(ctx, spec.Name, job.Name)
	if err != nil {
		return ensembles.Location{}, err
	}
	if err := p.cluster.extend(ctx, job.Name, longestRun); err != nil {
		return ensembles.Location{}, err
	}
	at := ensembles.Location{Homes: map[string]string{spec.First(): ""}}
	if at.Address, err = netip.ParseAddr(pod.Status.PodIP); err != nil {
		return at, err
	}
	if at.Control, err = p.reach(pod.Name, at.Address, agent.Port); err != nil {
		return at, err
	}
	if spec.Publish {
		if at.Published, err = p.reach(pod.Name, at.Address, agent.ClientPort); err != nil {
			return at, err
		}
	}
	return at, p.copyFiles(ctx, spec, at.Control, env[agent.EnvSecret])
}

// reach returns where this process reaches a port of a pod: at the pod's own address if it is in the cluster itself,
// and otherwise at a port of this machine that leads there.
func (p *place) reach(pod string, address netip.Addr, port uint16) (netip.AddrPort, error) {
	if p.cluster.inside() {
		return netip.AddrPortFrom(address, port), nil
	}
	f, err := p.cluster.forward(pod, port, p.cfg.Log)
	if err != nil {
		return netip.AddrPort{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forwards = append(p.forwards, f)
	return f.address(), nil
}

// copyFiles has the agent write the host's files.
func (p *place) copyFiles(ctx context.Context, spec ensembles.HostSpec, control netip.AddrPort, secret string) error {
	if len(spec.Files) == 0 {
		return nil
	}
	c := agent.NewClient(spec.Name, control.String(), secret)
	defer c.Close()
	ready, cancel := context.WithTimeout(ctx, startCap)
	defer cancel()
	if err := ensembles.Poll(ready, 20*time.Millisecond, "agent of "+spec.Name, func() error {
		_, err := c.Renew(ready)
		return err
	}); err != nil {
		return err
	}
	for _, f := range spec.Files {
		if err := copyFile(ctx, c, f); err != nil {
			return fmt.Errorf("copy %s: %w", f.Source, err)
		}
	}
	return nil
}

func copyFile(ctx context.Context, c *agent.Client, f ensembles.File) error {
	from, err := os.Open(f.Source)
	if err != nil {
		return err
	}
	defer from.Close()
	return c.Put(ctx, f.Target, f.Executable, from)
}

// Close implements [ensembles.Place]. It returns when the pods are gone.
func (p *place) Close(ctx context.Context) error {
	defer p.cluster.close()
	p.stop()
	p.watching.Wait()
	p.mu.Lock()
	for _, f := range p.forwards {
		f.close()
	}
	p.mu.Unlock()
	if err := p.cluster.removeJobs(ctx, p.selector); err != nil {
		return fmt.Errorf("remove the lab's Jobs: %w", err)
	}
	return ensembles.Poll(ctx, 100*time.Millisecond, "pods to be gone", func() error {
		l, err := p.cluster.listPods(ctx, p.selector)
		if err != nil {
			return err
		}
		var left []string
		for _, pod := range l.Items {
			left = append(left, pod.Name+" on "+pod.Spec.NodeName)
		}
		if len(left) > 0 {
			return fmt.Errorf("%s: a pod goes when its node answers or is removed", strings.Join(left, ", "))
		}
		return nil
	})
}

// Clean implements [ensembles.Kind]. Labs of killed harnesses go by themselves; what can be left for minutes are Jobs
// whose pods never ran. One that is younger than a start may take belongs perhaps to a harness that waits for it.
// Nothing is done where no cluster is configured.
func (Kind) Clean(ctx context.Context, log *slog.Logger) error {
	s, err := readSettings()
	if err != nil {
		return err
	}
	if !configured() {
		return nil
	}
	c, err := openCluster(s)
	if err != nil {
		return err
	}
	defer c.close()
	const all = labelManaged + "=" + managed
	pods, err := c.listPods(ctx, all)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	jobs, err := c.listJobs(ctx, all)
	if err != nil {
		return err
	}
	alive := map[string]bool{}
	for _, p := range pods.Items {
		if running, _ := progress(&p); running {
			alive[p.Labels[labelLab]] = true
		}
	}
	var errs []error
	for _, j := range jobs {
		if lab := j.Labels[labelLab]; lab != "" && !alive[lab] && time.Since(j.CreationTimestamp.Time) > startCap {
			log.Info("remove leftover", "job", j.Name, "lab", lab)
			errs = append(errs, c.removeJobs(ctx, labelLab+"="+lab+","+labelHost+"="+j.Labels[labelHost]))
		}
	}
	return errors.Join(errs...)
}
