package kubernetes

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	"locklab/ensembles"
)

// The environment variables that say where in a cluster labs are made, and of what. The cluster itself is the one that
// kubectl would use.
const (
	// EnvContext names a context of the kubeconfig; empty = the current one.
	EnvContext = "LOCKLAB_KUBERNETES_CONTEXT"
	// EnvNamespace names the namespace of labs; empty = DefaultNamespace.
	EnvNamespace = "LOCKLAB_KUBERNETES_NAMESPACE"
	// EnvImage names locklab's image. Without a tag, the tag is the hash of its binary.
	EnvImage = "LOCKLAB_KUBERNETES_IMAGE"
	// EnvNodeSelector has the labels that nodes must have, as key=value,key=value.
	EnvNodeSelector = "LOCKLAB_KUBERNETES_NODE_SELECTOR"
	// EnvSpread says what the hosts of a role are spread over: node, zone or none.
	EnvSpread = "LOCKLAB_KUBERNETES_SPREAD"
	// EnvStorageClass names the class of the volumes of hosts with a disk; empty = the node's own disk.
	EnvStorageClass = "LOCKLAB_KUBERNETES_STORAGE_CLASS"
	// EnvResources has what each host requests, such as cpu=500m,memory=1Gi.
	EnvResources = "LOCKLAB_KUBERNETES_RESOURCES"
)

// Variables are the environment variables that this package reads, apart from those of kubectl.
var Variables = []string{EnvContext, EnvNamespace, EnvImage, EnvNodeSelector, EnvSpread, EnvStorageClass, EnvResources}

// DefaultNamespace is where labs are made unless the environment says otherwise. Labs never get into a namespace that
// was not made for them just because it is the current one.
const DefaultNamespace = "locklab"

const (
	defaultImage = "locklab/host"
	officialZoo  = "zookeeper:3.9"
	diskSize     = "4Gi" // of a volume that a storage class provides
)

// topologies are the labels of nodes by which hosts can be spread.
var topologies = map[string]string{"node": core.LabelHostname, "zone": core.LabelTopologyZone, "none": ""}

// settings say where in a cluster the hosts of a lab are made, and of what.
type settings struct {
	context, namespace string
	image, zookeeper   string
	nodeSelector       map[string]string
	topology           string
	storageClass       string
	requests           core.ResourceList
	elsewhere          *ensembles.Elsewhere // nil if labs have servers of their own
}

// readSettings reads the environment.
func readSettings() (settings, error) {
	s := settings{context: os.Getenv(EnvContext), namespace: cmp.Or(os.Getenv(EnvNamespace), DefaultNamespace),
		image:        cmp.Or(os.Getenv(EnvImage), defaultImage),
		zookeeper:    ensembles.ImageOf(cmp.Or(os.Getenv(ensembles.EnvImage), officialZoo)),
		storageClass: os.Getenv(EnvStorageClass)}
	if errs := validation.IsDNS1123Label(s.namespace); len(errs) > 0 {
		return s, fmt.Errorf("%s: %q is not the name of a namespace: %s", EnvNamespace, s.namespace, errs[0])
	}
	spread := cmp.Or(os.Getenv(EnvSpread), "node")
	topology, known := topologies[spread]
	if !known {
		return s, fmt.Errorf("%s: hosts cannot be spread over %q; use node, zone or none", EnvSpread, spread)
	}
	s.topology = topology
	var err error
	if s.nodeSelector, err = pairs(EnvNodeSelector, "kubernetes.io/arch=amd64"); err != nil {
		return s, err
	}
	amounts, err := pairs(EnvResources, "cpu=500m,memory=1Gi")
	if err != nil {
		return s, err
	}
	for name, text := range amounts {
		amount, err := resource.ParseQuantity(text)
		if err != nil || amount.Sign() < 0 {
			return s, fmt.Errorf("%s: %q is not an amount of %s; write it like cpu=500m,memory=1Gi", EnvResources, text, name)
		}
		if s.requests == nil {
			s.requests = core.ResourceList{}
		}
		s.requests[core.ResourceName(name)] = amount
	}
	return s, nil
}

// Environ returns the variables, as name=value, with which another harness in the cluster makes labs of the same images
// in the same places. It is in the cluster itself, so it needs no context.
func Environ() []string {
	var env []string
	for _, name := range append(slices.Clone(Variables), ensembles.EnvImage) {
		if value := os.Getenv(name); value != "" && name != EnvContext {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// pairs reads a variable of the form key=value,key=value.
func pairs(variable, example string) (map[string]string, error) {
	text := os.Getenv(variable)
	if text == "" {
		return nil, nil
	}
	all := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" || value == "" {
			return nil, fmt.Errorf("%s: %q is not key=value; write it like %s", variable, pair, example)
		}
		all[key] = value
	}
	return all, nil
}

// withTag returns the reference of locklab's image. A reference without a tag gets the given one.
func withTag(image, tag string) string {
	if strings.ContainsAny(image[strings.LastIndex(image, "/")+1:], ":@") {
		return image
	}
	return image + ":" + tag
}
