package kubernetes

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	auth "k8s.io/api/authorization/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"locklab/harness/fail"
)

// ErrUnavailable says that labs of this kind cannot be made from here.
var ErrUnavailable = fail.Environment.New("no lab of pods can be made")

// A cluster makes the few calls to the API server that a lab needs. It knows the types of three groups and not, as the
// usual client does, those of all: that would double locklab's binary.
type cluster struct {
	settings

	config            *rest.Config
	client            *http.Client // of all three
	core, batch, auth *rest.RESTClient
}

// openCluster finds the cluster as kubectl does: by KUBECONFIG, by the file in the home directory or, in a pod, by the
// pod's service account.
func openCluster(s settings) (*cluster, error) {
	cfg, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(),
		&clientcmd.ConfigOverrides{CurrentContext: s.context}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	cfg.QPS, cfg.Burst = 100, 200 // a lab of many hosts starts them at once
	c := &cluster{settings: s, config: cfg}
	if c.client, err = rest.HTTPClientFor(cfg); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	types := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{core.AddToScheme, batch.AddToScheme, auth.AddToScheme} {
		if err := add(types); err != nil {
			return nil, err
		}
	}
	codecs := serializer.NewCodecFactory(types).WithoutConversion()
	for _, g := range []struct {
		client  **rest.RESTClient
		path    string
		version schema.GroupVersion
	}{
		{&c.core, "/api", core.SchemeGroupVersion}, {&c.batch, "/apis", batch.SchemeGroupVersion},
		{&c.auth, "/apis", auth.SchemeGroupVersion},
	} {
		part := rest.CopyConfig(cfg)
		part.APIPath, part.GroupVersion, part.NegotiatedSerializer = g.path, &g.version, codecs
		if *g.client, err = rest.RESTClientForConfigAndClient(part, c.client); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
	}
	return c, nil
}

// inside reports whether this process is a pod of the cluster. A pod may also have the kubeconfig of another cluster.
func (c *cluster) inside() bool {
	host, port := os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT")
	return host != "" && c.config.Host == "https://"+net.JoinHostPort(host, port)
}

// close closes connections to the API server that wait for the next call.
func (c *cluster) close() { utilnet.CloseIdleConnectionsFor(c.client.Transport) }

func (c *cluster) createJob(ctx context.Context, j *batch.Job) (*batch.Job, error) {
	made := &batch.Job{}
	return made, c.batch.Post().Namespace(c.namespace).Resource("jobs").Body(j).Do(ctx).Into(made)
}

func (c *cluster) createSecret(ctx context.Context, s *core.Secret) error {
	return c.core.Post().Namespace(c.namespace).Resource("secrets").Body(s).Do(ctx).Error()
}

// extend puts off the deadline of a Job, which counts from its start.
func (c *cluster) extend(ctx context.Context, job string, deadline time.Duration) error {
	patch := fmt.Sprintf(`{"spec":{"activeDeadlineSeconds":%d}}`, int64(deadline.Seconds()))
	return c.batch.Patch(types.MergePatchType).Namespace(c.namespace).Resource("jobs").Name(job).
		Body([]byte(patch)).Do(ctx).Error()
}

func (c *cluster) listJobs(ctx context.Context, selector string) ([]batch.Job, error) {
	var l batch.JobList
	err := c.batch.Get().Namespace(c.namespace).Resource("jobs").
		VersionedParams(&meta.ListOptions{LabelSelector: selector}, meta.ParameterCodec).Do(ctx).Into(&l)
	return l.Items, err
}

// removeJobs removes Jobs, and in the background what belongs to them.
func (c *cluster) removeJobs(ctx context.Context, selector string) error {
	return c.batch.Delete().Namespace(c.namespace).Resource("jobs").
		VersionedParams(&meta.ListOptions{LabelSelector: selector}, meta.ParameterCodec).
		Body(&meta.DeleteOptions{PropagationPolicy: new(meta.DeletePropagationBackground)}).Do(ctx).Error()
}

func (c *cluster) listPods(ctx context.Context, selector string) (*core.PodList, error) {
	var l core.PodList
	return &l, c.core.Get().Namespace(c.namespace).Resource("pods").
		VersionedParams(&meta.ListOptions{LabelSelector: selector}, meta.ParameterCodec).Do(ctx).Into(&l)
}

// watchPods tells what becomes of pods after a list of that version.
func (c *cluster) watchPods(ctx context.Context, selector, version string) (watch.Interface, error) {
	return c.core.Get().Namespace(c.namespace).Resource("pods").
		VersionedParams(&meta.ListOptions{LabelSelector: selector, ResourceVersion: version, Watch: true},
			meta.ParameterCodec).Watch(ctx)
}

// refusals returns why no pod of a Job could be made, newest last; empty if nothing was refused.
func (c *cluster) refusals(ctx context.Context, job string) (string, error) {
	var l core.EventList
	err := c.core.Get().Namespace(c.namespace).Resource("events").VersionedParams(&meta.ListOptions{
		FieldSelector: "involvedObject.kind=Job,involvedObject.name=" + job + ",reason=FailedCreate"},
		meta.ParameterCodec).Do(ctx).Into(&l)
	var why []string
	for _, e := range l.Items {
		why = append(why, e.Message)
	}
	return strings.Join(why, "; "), err
}

// forwardURL is where connections to a pod's ports are asked for.
func (c *cluster) forwardURL(pod string) *url.URL {
	return c.core.Post().Namespace(c.namespace).Resource("pods").Name(pod).SubResource("portforward").URL()
}
