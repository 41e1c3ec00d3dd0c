package main

// configs are the files that configure the parts of a node, by their path in its directory.
var configs = map[string]string{
	"etc/net.d/pods.conflist": `{"cniVersion": "0.4.0", "name": "pods", "plugins": [{
  "type": "bridge", "bridge": "cni0", "isGateway": true, "hairpinMode": true,
  "ipam": {"type": "host-local", "ranges": [[{"subnet": "@PODS@"}]], "routes": [{"dst": "0.0.0.0/0"}],
           "dataDir": "/run/cni-ipam"}}]}
`,
	// A container cannot lower its OOM score where CAP_SYS_RESOURCE is missing.
	"containerd.toml": `version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "` + pauseImage + `"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "@PLUGINS@"
    conf_dir = "/etc/cni/net.d"
`,
	"kubelet.yaml": `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cgroupDriver: cgroupfs
cgroupRoot: @GROUP@
failSwapOn: false
failCgroupV1: false
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
resolvConf: ""
localStorageCapacityIsolation: false
imageGCHighThresholdPercent: 100
evictionHard: {memory.available: 100Mi}
`,
	"kube-proxy.yaml": `apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
clientConnection: {kubeconfig: @KUBECONFIG@}
mode: nftables
clusterCIDR: @CLUSTER@
hostnameOverride: @NODE@
conntrack: {maxPerCore: 0}
`,
}

// pauseImage is the image of the first process of every pod. It must be among the images that are given.
const pauseImage = "docker.io/locklab/pause:test"
