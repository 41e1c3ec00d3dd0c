package zksession

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseServers(t *testing.T) {
	for text, want := range map[string]struct {
		servers []string
		chroot  string
	}{
		"a:1,b:2/app":   {[]string{"a:1", "b:2"}, "/app"},
		"a, b/app/deep": {[]string{"a", "b"}, "/app/deep"},
		"a:1":           {[]string{"a:1"}, ""},
		"a:1/":          {[]string{"a:1"}, ""},
		" a:1/app \n":   {[]string{"a:1"}, "/app"},
	} {
		servers, chroot, err := ParseServers(text)
		if d := cmp.Diff(want.servers, servers); d != "" || chroot != want.chroot || err != nil {
			t.Errorf("%s: chroot %q, %v, servers (-want +got):\n%s", text, chroot, err, d)
		}
	}
	for _, text := range []string{"", "a,,b", "/app", "a/app/", "a//app", "a/../app",
		"a:1/app,b:2/app", "a:1/app,b:2", "a:1,b:2/app,c:3/app", "a:1/,b:2/", "a:1/app,"} {
		if servers, chroot, err := ParseServers(text); err == nil {
			t.Errorf("%q: accepted as %v and %q", text, servers, chroot)
		}
	}
}

// A session with a chroot sees nothing but what is below it.
func TestChroot(t *testing.T) {
	root := freshPath()
	app, outside := connected(t, Config{Chroot: root + "/app"}), connected(t, Config{})
	if _, err := app.Create(within(t), "/a", nil, Persistent); !errors.Is(err, ErrNoNode) {
		t.Errorf("the chroot is there: %v", err)
	}
	if _, err := app.Create(within(t), "/", nil, Persistent); err != nil {
		t.Fatal(err)
	}
	if created, err := app.Create(within(t), "/a", []byte("data"), Persistent); err != nil || created != "/a" {
		t.Errorf("%s, %v", created, err)
	}
	made, err := app.Multi(within(t), Op{Kind: OpCheck, Path: "/a", Version: AnyVersion},
		Op{Kind: OpCreate, Path: "/a/b-", Mode: EphemeralSequential})
	if d := cmp.Diff([]string{"", "/a/b-0000000000"}, made); d != "" || err != nil {
		t.Errorf("%v, created (-want +got):\n%s", err, d)
	}
	if err := outside.Sync(within(t), root); err != nil {
		t.Fatal(err)
	}
	data, _, err := outside.Get(within(t), root+"/app/a")
	if string(data) != "data" || err != nil {
		t.Errorf("outside: %q, %v", data, err)
	}
	names, err := app.Children(within(t), "/")
	if d := cmp.Diff([]string{"a"}, names); d != "" || err != nil {
		t.Errorf("%v, children of the root (-want +got):\n%s", err, d)
	}
	for _, node := range []string{"/a/b-0000000000", "/a"} {
		if err := app.Delete(within(t), node); err != nil {
			t.Error(err)
		}
	}
	for _, node := range []string{root + "/app", root} {
		if err := outside.Delete(within(t), node); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []string{"app", "/", "/app/", "/a//b"} {
		if _, err := Connect(within(t), Config{Servers: []string{"127.0.0.1:1"}, Chroot: bad}); err == nil ||
			!strings.Contains(err.Error(), "chroot") {
			t.Errorf("chroot %q: %v", bad, err)
		}
	}
}
