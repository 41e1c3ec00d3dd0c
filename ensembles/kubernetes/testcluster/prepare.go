package main

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
)

// The addresses of a cluster. They are in networks of its own, so every cluster has the same.
const (
	bridgeAddress = "10.89.0.1/24"
	apiAddress    = "10.89.0.11"
	apiServer     = "https://" + apiAddress + ":6443"
	serviceRange  = "10.96.0.0/16"
	podRange      = "10.90.0.0/16"
)

func nodeAddress(n int) string  { return fmt.Sprintf("10.89.0.1%d", n) }
func nodePodRange(n int) string { return fmt.Sprintf("10.90.%d.0/24", n) }
func nodeName(n int) string     { return fmt.Sprintf("node%d", n) }

// prepare writes the images, the keys and the ways to the API server to the cluster's directory.
func (c *cluster) prepare(archives, binaries []string) error {
	images := filepath.Join(c.Dir, imagesDir)
	if err := os.Mkdir(images, 0o700); err != nil {
		return err
	}
	for i, b := range binaries {
		to := filepath.Join(images, fmt.Sprintf("%d.tar", i))
		if err := makeImage(to, b); err != nil {
			return err
		}
		c.Archives = append(c.Archives, to)
	}
	for _, a := range archives {
		path, err := filepath.Abs(a)
		if err != nil {
			return err
		}
		c.Archives = append(c.Archives, path)
	}
	if err := c.makeKey(); err != nil {
		return err
	}
	users := []user{{"admin", "admin", "system:masters"},
		{"kube-controller-manager", "system:kube-controller-manager", ""},
		{"kube-scheduler", "system:kube-scheduler", ""}, {"kube-proxy", "system:kube-proxy", ""}}
	for n := range c.Nodes {
		users = append(users, user{nodeName(n + 1), "system:node:" + nodeName(n+1), "system:nodes"})
	}
	var tokens strings.Builder
	for _, u := range users {
		token := make([]byte, 16)
		rand.Read(token) // never fails
		fmt.Fprintf(&tokens, "%x,%s,%s,%q\n", token, u.name, u.file, u.groups)
		text := kubeconfig(apiServer, c.Dir, hex.EncodeToString(token))
		if u.file == "admin" {
			c.adminToken = hex.EncodeToString(token)
			continue // its way leads through a port that is not open yet
		}
		if err := os.WriteFile(filepath.Join(c.Dir, u.file+".kubeconfig"), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(c.Dir, "tokens.csv"), []byte(tokens.String()), 0o600)
}

// A user of the API server.
type user struct{ file, name, groups string }

// kubeconfig returns a user's way to the API server, whose certificate is for localhost too.
func kubeconfig(server, dir, token string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: test, cluster: {server: %q, certificate-authority: %q, tls-server-name: localhost}}]
users: [{name: test, user: {token: %q}}]
contexts: [{name: test, context: {cluster: test, user: test}}]
current-context: test
`, server, filepath.Join(dir, "pki", "apiserver.crt"), token)
}

// makeKey makes the key that signs the tokens of service accounts.
func (c *cluster) makeKey() error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return err
	}
	for name, block := range map[string]*pem.Block{
		"sa.key": {Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)},
		"sa.pub": {Type: "PUBLIC KEY", Bytes: public},
	} {
		if err := os.WriteFile(filepath.Join(c.Dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// serve opens a port of 127.0.0.1, from which connections are passed on to the API server, in the network of the
// process with that id.
func (c *cluster) serve(pid int) error {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	text := kubeconfig("https://"+l.Addr().String(), c.Dir, c.adminToken)
	if err := os.WriteFile(filepath.Join(c.Dir, adminFile), []byte(text), 0o600); err != nil {
		return err
	}
	return relay(l, pid, net.JoinHostPort(apiAddress, "6443"))
}
