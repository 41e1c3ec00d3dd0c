package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"

	"locklab/harness/fail"
)

// pods are the pods of a lab as they change, by host.
type pods struct {
	cluster  *cluster
	selector string
	log      *slog.Logger

	mu      sync.Mutex
	now     map[string]*core.Pod
	changed chan struct{} // closed at the next change
}

func newPods(c *cluster, selector string, log *slog.Logger) *pods {
	return &pods{cluster: c, selector: selector, log: log, now: map[string]*core.Pod{}, changed: make(chan struct{})}
}

// follow watches the pods until ctx ends. When a watch breaks off, as it does after some minutes, the pods are listed
// again.
func (p *pods) follow(ctx context.Context) {
	again := time.NewTicker(500 * time.Millisecond)
	defer again.Stop()
	for {
		if err := p.watch(ctx); err != nil && ctx.Err() == nil {
			p.log.Debug("watch pods", "err", err)
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return
		}
	}
}

func (p *pods) watch(ctx context.Context) error {
	l, err := p.cluster.listPods(ctx, p.selector)
	if err != nil {
		return err
	}
	p.set(func() {
		clear(p.now)
		for i := range l.Items {
			p.now[l.Items[i].Labels[labelHost]] = &l.Items[i]
		}
	})
	w, err := p.cluster.watchPods(ctx, p.selector, l.ResourceVersion)
	if err != nil {
		return err
	}
	defer w.Stop()
	for e := range w.ResultChan() {
		pod, ok := e.Object.(*core.Pod)
		if !ok {
			return fmt.Errorf("%v: %v", e.Type, e.Object)
		}
		p.set(func() {
			host := pod.Labels[labelHost]
			if p.now[host] = pod; e.Type == watch.Deleted {
				delete(p.now, host)
			}
		})
	}
	return nil
}

func (p *pods) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
	close(p.changed)
	p.changed = make(chan struct{})
}

func (p *pods) get(host string) (pod *core.Pod, changed <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now[host], p.changed
}

// await waits until the pod of a host runs. If it never will, the error says why.
func (p *pods) await(ctx context.Context, host, job string) (*core.Pod, error) {
	ctx, cancel := context.WithTimeout(ctx, startCap-10*time.Second)
	defer cancel()
	look := time.NewTicker(time.Second)
	defer look.Stop()
	for {
		pod, changed := p.get(host)
		var state error = errors.New("it has no pod yet")
		if pod != nil {
			running, err := progress(pod)
			if running {
				return pod, nil
			}
			if errors.Is(err, errHopeless) {
				return nil, err
			}
			state = err
		}
		select {
		case <-changed:
		case <-look.C:
			if pod != nil {
				continue
			}
			why, err := p.cluster.refusals(ctx, job)
			if err == nil && why != "" {
				return nil, fmt.Errorf("%w: its pod is refused: %s%s", errHopeless, why, hintOf(why))
			}
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", context.Cause(ctx), state)
		}
	}
}

// errHopeless says that a pod will never run.
var errHopeless = fail.Environment.New("the host cannot start")

// hopeless are reasons for which a container waits in vain.
var hopeless = []string{"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull",
	"CreateContainerError", "RunContainerError"}

// progress reports whether a pod runs, and what it waits for if it does not.
func progress(pod *core.Pod) (running bool, err error) {
	switch s := pod.Status; {
	case s.Phase == core.PodRunning && s.PodIP != "":
		return true, nil
	case s.Phase == core.PodFailed || s.Phase == core.PodSucceeded:
		return false, fmt.Errorf("%w: pod %s ended: %s %s%s", errHopeless, pod.Name, s.Reason, s.Message, exits(pod))
	}
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		w := c.State.Waiting
		if w == nil {
			continue
		}
		if slices.Contains(hopeless, w.Reason) {
			return false, fmt.Errorf("%w: image %s: %s: %s", errHopeless, c.Image, w.Reason, w.Message)
		}
		err = fmt.Errorf("container %s of pod %s waits: %s %s", c.Name, pod.Name, w.Reason, w.Message)
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == core.PodScheduled && c.Status != core.ConditionTrue {
			err = fmt.Errorf("no node takes pod %s: %s", pod.Name, c.Message)
		}
	}
	if err == nil {
		err = fmt.Errorf("pod %s is %s", pod.Name, pod.Status.Phase)
	}
	return false, err
}

// exits says how the containers of a pod ended.
func exits(pod *core.Pod) string {
	var text strings.Builder
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if t := c.State.Terminated; t != nil && t.ExitCode != 0 {
			fmt.Fprintf(&text, ", container %s with %d %s %s", c.Name, t.ExitCode, t.Reason, t.Message)
		}
	}
	return text.String()
}
