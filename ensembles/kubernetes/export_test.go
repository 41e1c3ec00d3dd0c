package kubernetes

import (
	"context"
	"maps"
	"slices"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Objects lists the objects that the cluster has of a lab, as kind/name, and the nodes that its pods are on. It asks as
// the current context's user, who administers a test cluster.
func Objects(ctx context.Context, lab string) (names []string, nodes map[string]string, err error) {
	s, err := readSettings()
	if err != nil {
		return nil, nil, err
	}
	s.context = ""
	c, err := openCluster(s)
	if err != nil {
		return nil, nil, err
	}
	selector := labelLab + "=" + lab
	jobs, err := c.listJobs(ctx, selector)
	if err != nil {
		return nil, nil, err
	}
	for _, j := range jobs {
		names = append(names, "job/"+j.Name)
	}
	pods, err := c.listPods(ctx, selector)
	if err != nil {
		return nil, nil, err
	}
	nodes = map[string]string{}
	for _, p := range pods.Items {
		names = append(names, "pod/"+p.Name)
		nodes[p.Labels[labelHost]] = p.Spec.NodeName
	}
	var secrets core.SecretList
	err = c.core.Get().Namespace(c.namespace).Resource("secrets").
		VersionedParams(&meta.ListOptions{LabelSelector: selector}, meta.ParameterCodec).Do(ctx).Into(&secrets)
	for _, s := range secrets.Items {
		names = append(names, "secret/"+s.Name)
	}
	return names, nodes, err
}

// Nodes counts the nodes of the cluster.
func Nodes(ctx context.Context) (int, error) {
	c, err := openCluster(settings{namespace: DefaultNamespace})
	if err != nil {
		return 0, err
	}
	var l core.NodeList
	err = c.core.Get().Resource("nodes").Do(ctx).Into(&l)
	return len(l.Items), err
}

// Labs lists the labs that the cluster has Jobs of.
func Labs(ctx context.Context) ([]string, error) {
	s, err := readSettings()
	if err != nil {
		return nil, err
	}
	c, err := openCluster(s)
	if err != nil {
		return nil, err
	}
	jobs, err := c.listJobs(ctx, labelManaged+"="+managed)
	labs := map[string]bool{}
	for _, j := range jobs {
		labs[j.Labels[labelLab]] = true
	}
	return slices.Sorted(maps.Keys(labs)), err
}
