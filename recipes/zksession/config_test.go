package zksession

import (
	"context"
	"crypto/tls"
	"errors"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"
)

// A configuration that cannot work is refused before anything is connected, and the error says what to do.
func TestConnectRefusesConfig(t *testing.T) {
	onlyApp := func(path string) []zk.ACL {
		if path == "/app" {
			return CreatorAll(path)
		}
		return Open(path)
	}
	for _, x := range []struct {
		cfg  Config
		want string // in the error; empty: the configuration is good
	}{
		{Config{Servers: []string{"zk1:2181,zk2:2181"}}, "ParseServers"},
		{Config{Servers: []string{"zk1:2181", "zk2:2181/app"}}, "ParseServers"},
		{Config{Servers: []string{"[::1]:2181", "zk1"}}, ""},
		{Config{Servers: strings.Split("", ",")}, "server 1 of 1 is empty"},
		{Config{Servers: []string{"zk1", ""}}, "server 2 of 2 is empty"},
		{Config{Servers: []string{"zk1"}, ACL: CreatorAll}, "give Credentials"},
		{Config{Servers: []string{"zk1"}, ACL: func(string) []zk.ACL { return zk.AuthACL(zk.PermRead) }}, "give Credentials"},
		{Config{Servers: []string{"zk1"}, ACL: onlyApp}, ""},
		{Config{Servers: []string{"zk1"}, ACL: onlyApp, Chroot: "/app"}, "ACL of /app"},
		{Config{Servers: []string{"zk1"}, ACL: CreatorAll, Credentials: []Credential{Digest("a", "b:c")}}, ""},
		{Config{Servers: []string{"zk1"}, ACL: CreatorAll, Dial: new(tls.Dialer).DialContext}, ""},
	} {
		_, err := x.cfg.withDefaults()
		if x.want != "" {
			_, err = Connect(within(t), x.cfg)
		}
		if (err == nil) != (x.want == "") || err != nil && !strings.Contains(err.Error(), x.want) {
			t.Errorf("%v: got %v, want %q", x.cfg.Servers, err, x.want)
		}
		if errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v: Connect tried first: %v", x.cfg.Servers, err)
		}
	}
}
