package kubernetes

import (
	"bytes"
	"fmt"
	"io"

	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	rbac "k8s.io/api/rbac/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"locklab/ensembles"
	"locklab/ensembles/agent"
)

// WriteAccess writes manifests of all that must be in a cluster before labs can be made there: the namespace, and a
// service account that may use it. They are for an administrator to apply; locklab applies none.
func WriteAccess(w io.Writer) error {
	s, err := readSettings()
	if err != nil {
		return err
	}
	all := meta.ObjectMeta{Name: managed, Namespace: s.namespace, Labels: map[string]string{labelManaged: managed}}
	name := all
	name.Name, name.Namespace = s.namespace, ""
	name.Labels = map[string]string{labelManaged: managed, "pod-security.kubernetes.io/enforce": "privileged"}
	const group = "rbac.authorization.k8s.io"
	return write(w,
		&core.Namespace{TypeMeta: meta.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: name},
		&core.ServiceAccount{TypeMeta: meta.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"}, ObjectMeta: all},
		&rbac.Role{TypeMeta: meta.TypeMeta{APIVersion: group + "/v1", Kind: "Role"}, ObjectMeta: all, Rules: rules},
		&rbac.RoleBinding{TypeMeta: meta.TypeMeta{APIVersion: group + "/v1", Kind: "RoleBinding"}, ObjectMeta: all,
			RoleRef:  rbac.RoleRef{APIGroup: group, Kind: "Role", Name: managed},
			Subjects: []rbac.Subject{{Kind: "ServiceAccount", Name: managed, Namespace: s.namespace}}})
}

// WriteHosts writes manifests of what a lab applies for each host. The secrets and the ids of a real lab are random.
func WriteHosts(w io.Writer, hosts ...ensembles.HostSpec) error {
	s, err := readSettings()
	if err != nil {
		return err
	}
	s.image = withTag(s.image, "HASH")
	const lab = "00000000"
	for _, h := range hosts {
		j := s.job(lab, h)
		j.Namespace = s.namespace
		env := secret(lab, h, map[string]string{agent.EnvHost: h.Name, agent.EnvSecret: "(random)",
			agent.EnvLease: Lease.String()}, &batch.Job{ObjectMeta: meta.ObjectMeta{Name: j.Name, UID: "(of the Job)"}})
		env.Namespace = s.namespace
		if err := write(w, j, env); err != nil {
			return err
		}
	}
	return nil
}

func write(w io.Writer, objects ...any) error {
	for _, o := range objects {
		text, err := yaml.Marshal(o)
		if err != nil {
			return err
		}
		// A status says nothing about an object that does not exist yet.
		text = bytes.ReplaceAll(text, []byte("status: {}\n"), nil)
		if _, err := fmt.Fprintf(w, "---\n%s", text); err != nil {
			return err
		}
	}
	return nil
}
