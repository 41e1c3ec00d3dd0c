package kubernetes

import (
	"time"

	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"locklab/ensembles"
	"locklab/ensembles/agent"
)

// The labels of every object of a lab.
const (
	labelManaged = "app.kubernetes.io/managed-by" // is "locklab"
	labelLab     = "locklab.lab"                  // the id of the lab
	labelHost    = "locklab.host"                 // the name of the host
	labelRole    = "locklab.role"                 // the role of the host
)

const managed = "locklab"

const (
	// Lease is how long an agent lives without a renewal. It is longer than on one machine, because a run is to survive
	// the restart of an API server, through which renewals come.
	Lease = 30 * time.Second
	// goneAfter is how long an ended Job stays.
	goneAfter = 5 * time.Second
	// secretCap is how long a host may be without its Secret, which belongs to its Job and so is made after it. Its pod
	// cannot run before, so no lease ends it.
	secretCap = 30 * time.Second
	// startCap is how long the start of a host may take: its node may have to load images, or even to be started.
	startCap = 3 * time.Minute
	// longestRun is the deadline of a host that has started.
	longestRun = 7 * 24 * time.Hour
)

// The paths in locklab's image and in pods.
const (
	binaryPath = "/locklab"
	binDir     = "/locklab-bin"
	binName    = "locklab"
)

// memorySize bounds the data of a host without a disk.
const memorySize = "1Gi"

var roles = map[ensembles.Role]string{ensembles.Server: "server", ensembles.Client: "client",
	ensembles.Resource: "resource", ensembles.Harness: "harness"}

func objectName(lab, host string) string { return "locklab-" + lab + "-" + host }

func labelsOf(lab string, h ensembles.HostSpec) map[string]string {
	return map[string]string{labelManaged: managed, labelLab: lab, labelHost: h.Name, labelRole: roles[h.Role]}
}

// secret returns the Secret with a host's environment. It goes with the host's Job, which must exist by then.
func secret(lab string, h ensembles.HostSpec, env map[string]string, owner *batch.Job) *core.Secret {
	return &core.Secret{TypeMeta: meta.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: meta.ObjectMeta{Name: objectName(lab, h.Name), Labels: labelsOf(lab, h),
			OwnerReferences: []meta.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: owner.Name, UID: owner.UID}}},
		StringData: env}
}

// job returns the Job of a host. Its pod has the variables of the host's Secret.
func (s settings) job(lab string, h ensembles.HostSpec) *batch.Job {
	return &batch.Job{TypeMeta: meta.TypeMeta{APIVersion: "batch/v1", Kind: "Job"},
		ObjectMeta: meta.ObjectMeta{Name: objectName(lab, h.Name), Labels: labelsOf(lab, h)},
		Spec: batch.JobSpec{BackoffLimit: new(int32(0)), TTLSecondsAfterFinished: new(int32(goneAfter.Seconds())),
			ActiveDeadlineSeconds: new(int64(secretCap.Seconds())),
			Template: core.PodTemplateSpec{ObjectMeta: meta.ObjectMeta{Labels: labelsOf(lab, h)},
				Spec: s.pod(lab, h)}}}
}

func (s settings) pod(lab string, h ensembles.HostSpec) core.PodSpec {
	data := core.Volume{Name: "data", VolumeSource: s.storage(h)}
	host := core.Container{Name: "host", Image: s.image, ImagePullPolicy: core.PullIfNotPresent,
		Command:      []string{binaryPath, "agent"},
		EnvFrom:      []core.EnvFromSource{{SecretRef: &core.SecretEnvSource{}}},
		VolumeMounts: []core.VolumeMount{{Name: data.Name, MountPath: agent.DataDir}},
		Resources:    core.ResourceRequirements{Requests: s.requests},
		// Faults of the network are rules in the pod's own network, for which the agent needs that capability.
		SecurityContext: confined("NET_ADMIN")}
	host.EnvFrom[0].SecretRef.Name = objectName(lab, h.Name)
	isHarness := h.Role == ensembles.Harness
	p := core.PodSpec{RestartPolicy: core.RestartPolicyNever, TerminationGracePeriodSeconds: new(int64(2)),
		AutomountServiceAccountToken: &isHarness, EnableServiceLinks: new(false), Hostname: h.Name,
		DNSPolicy: core.DNSClusterFirst, NodeSelector: s.nodeSelector, Volumes: []core.Volume{data}}
	if s.elsewhere == nil && !isHarness {
		// Hosts know each other by addresses. No query may leave the lab.
		p.DNSPolicy, p.DNSConfig = core.DNSNone, &core.PodDNSConfig{Nameservers: []string{"127.0.0.1"}}
	}
	if isHarness {
		// It makes a lab with the rights of the manifests' service account, and injects no fault on its own host.
		p.ServiceAccountName, host.SecurityContext = managed, confined()
	}
	if s.topology != "" {
		p.TopologySpreadConstraints = []core.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: s.topology,
			WhenUnsatisfiable: core.ScheduleAnyway, LabelSelector: &meta.LabelSelector{
				MatchLabels: map[string]string{labelLab: lab, labelRole: roles[h.Role]}}}}
	}
	if image := s.imageOf(h); image != s.image {
		bin := core.Volume{Name: "bin", VolumeSource: core.VolumeSource{EmptyDir: &core.EmptyDirVolumeSource{}}}
		p.Volumes = append(p.Volumes, bin)
		p.InitContainers = []core.Container{{Name: "install", Image: s.image, ImagePullPolicy: core.PullIfNotPresent,
			Command: []string{binaryPath, "install", binDir + "/" + binName}, SecurityContext: confined(),
			VolumeMounts: []core.VolumeMount{{Name: bin.Name, MountPath: binDir}}}}
		host.Image, host.Command = image, []string{binDir + "/" + binName, "agent"}
		host.VolumeMounts = append(host.VolumeMounts,
			core.VolumeMount{Name: bin.Name, MountPath: binDir, ReadOnly: true})
	}
	p.Containers = []core.Container{host}
	return p
}

func (s settings) imageOf(h ensembles.HostSpec) string {
	switch {
	case h.Image != "":
		return h.Image
	case s.elsewhere != nil:
		return s.image // it runs no server
	case h.Role == ensembles.Server && h.First() != ensembles.DefaultVersion:
		return ensembles.ImageOf(h.First())
	case h.Role == ensembles.Server || h.Base:
		return s.zookeeper
	}
	return s.image
}

// confined returns the rights of a container that has those capabilities and no others. It runs as root, because the
// agent writes where images have their root's files.
func confined(capabilities ...core.Capability) *core.SecurityContext {
	return &core.SecurityContext{RunAsUser: new(int64(0)), AllowPrivilegeEscalation: new(false),
		SeccompProfile: &core.SeccompProfile{Type: core.SeccompProfileTypeRuntimeDefault},
		Capabilities:   &core.Capabilities{Drop: []core.Capability{"ALL"}, Add: capabilities}}
}

// storage returns where a host keeps its data: in memory, on the node's disk, or on a volume of its own, which is
// removed with the pod.
func (s settings) storage(h ensembles.HostSpec) core.VolumeSource {
	switch {
	case !h.Disk:
		return core.VolumeSource{EmptyDir: &core.EmptyDirVolumeSource{Medium: core.StorageMediumMemory,
			SizeLimit: new(resource.MustParse(memorySize))}}
	case s.storageClass == "":
		return core.VolumeSource{EmptyDir: &core.EmptyDirVolumeSource{}}
	}
	claim := core.PersistentVolumeClaimSpec{StorageClassName: &s.storageClass,
		AccessModes: []core.PersistentVolumeAccessMode{core.ReadWriteOnce},
		Resources: core.VolumeResourceRequirements{
			Requests: core.ResourceList{core.ResourceStorage: resource.MustParse(diskSize)}}}
	return core.VolumeSource{Ephemeral: &core.EphemeralVolumeSource{
		VolumeClaimTemplate: &core.PersistentVolumeClaimTemplate{
			ObjectMeta: meta.ObjectMeta{Labels: map[string]string{labelManaged: managed}}, Spec: claim}}}
}
