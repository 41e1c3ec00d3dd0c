package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	auth "k8s.io/api/authorization/v1"
	core "k8s.io/api/core/v1"
	rbac "k8s.io/api/rbac/v1"
	api "k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"locklab/ensembles"
)

// rules are what the user of a cluster must be allowed to do in the namespace. Whoever may create Jobs can have pods
// created; that pods are created directly is tried, but never done.
var rules = []rbac.PolicyRule{
	{APIGroups: []string{"batch"}, Resources: []string{"jobs"},
		Verbs: []string{"create", "list", "patch", "deletecollection"}},
	{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"create"}},
	{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"create", "list", "watch"}},
	{APIGroups: []string{""}, Resources: []string{"pods/portforward"}, Verbs: []string{"get", "create"}},
	{APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"list"}},
}

const applyHint = "whoever administers the cluster can allow it with: locklab manifests print | kubectl apply -f -"

// hintOf returns a hint for a refusal that Pod Security is the reason of.
func hintOf(message string) string {
	if !strings.Contains(message, "PodSecurity") {
		return ""
	}
	return "; hosts need the capability NET_ADMIN, which only the level privileged allows; " + applyHint
}

// check asks the API server whether a lab with such a host may be made. It makes nothing.
func (c *cluster) check(ctx context.Context, lab string, h ensembles.HostSpec) error {
	var lacks []string
	for _, r := range rules {
		for _, resource := range r.Resources {
			for _, verb := range r.Verbs {
				allowed, err := c.allowed(ctx, r.APIGroups[0], resource, verb)
				if err != nil {
					return fmt.Errorf("%w: %w", ErrUnavailable, err)
				}
				if !allowed {
					lacks = append(lacks, verb+" "+resource)
				}
			}
		}
	}
	if len(lacks) > 0 {
		return fmt.Errorf("%w: the user of the cluster may not do this in namespace %s: %s; %s", ErrUnavailable,
			c.namespace, strings.Join(lacks, ", "), applyHint)
	}
	pod := &core.Pod{TypeMeta: meta.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: meta.ObjectMeta{
		Name: objectName(lab, h.Name), Labels: labelsOf(lab, h)}, Spec: c.pod(lab, h)}
	err := c.core.Post().Namespace(c.namespace).Resource("pods").VersionedParams(
		&meta.CreateOptions{DryRun: []string{meta.DryRunAll}}, meta.ParameterCodec).Body(pod).Do(ctx).Error()
	switch {
	case api.IsNotFound(err):
		return fmt.Errorf("%w: there is no namespace %s; %s", ErrUnavailable, c.namespace, applyHint)
	case err != nil:
		return fmt.Errorf("%w: the cluster refuses the pod of %s: %w%s", ErrUnavailable, h.Name, err, hintOf(err.Error()))
	}
	return nil
}

// allowed asks whether the user may do something in the namespace.
func (c *cluster) allowed(ctx context.Context, group, resource, verb string) (bool, error) {
	resource, sub, _ := strings.Cut(resource, "/")
	var answer auth.SelfSubjectAccessReview
	err := c.auth.Post().Resource("selfsubjectaccessreviews").Body(&auth.SelfSubjectAccessReview{
		Spec: auth.SelfSubjectAccessReviewSpec{ResourceAttributes: &auth.ResourceAttributes{Namespace: c.namespace,
			Group: group, Resource: resource, Subresource: sub, Verb: verb}}}).Do(ctx).Into(&answer)
	return answer.Status.Allowed, err
}

// configured reports whether the environment names a cluster, without asking it anything.
func configured() bool {
	if os.Getenv("KUBERNETES_SERVICE_HOST") != "" {
		return true
	}
	return slices.ContainsFunc(clientcmd.NewDefaultClientConfigLoadingRules().GetLoadingPrecedence(),
		func(path string) bool {
			_, err := os.Stat(path)
			return !errors.Is(err, os.ErrNotExist)
		})
}
