package recipes

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseContender(t *testing.T) {
	for _, c := range []struct {
		name      string
		seq       int64
		ok        bool
		exhausted bool
	}{
		{"_c_b0f15e0c-7b1d-4d21-a0a1-8a3cf0f3a4e1-lock-0000000007", 7, true, false},
		{"_c_0123456789abcdef0123456789abcdef-lock-0000000008", 8, true, false}, // go-zookeeper's
		{"lock-0000000009", 9, true, false},
		{"lock-0000000009-lock-0000000003", 3, true, false}, // only the last mark counts
		{"_c_lock-9999999999-lock-0000000004", 4, true, false},
		{"lock-2147483646", 2147483646, true, false},
		{"lock-2147483647", 2147483647, true, true},
		{"lock-9999999999", 9999999999, true, true},
		{"lock--2147483648", -2147483648, true, true},
		{"lock--000000001", -1, true, true}, // as the server pads it
		{"0", 0, false, false},
		{"lock-", 0, false, false},
		{"lock-7", 0, false, false},
		{"lock-00000000007", 0, false, false},
		{"lock--00000001", 0, false, false},
		{"lock-+000000001", 0, false, false},
		{"lock-000000000x", 0, false, false},
		{"lock-0000000001-lock-x", 0, false, false},
		{"x__lock__0000000001", 0, false, false}, // kazoo's
		{"_c_b0f15e0c-7b1d-4d21-a0a1-8a3cf0f3a4e1-__READ__0000000001", 0, false, false},
	} {
		got, ok := mutexLayout.parse(c.name)
		if ok != c.ok || got.seq != c.seq || ok && got.exhausted() != c.exhausted {
			t.Errorf("%q: got %d, %t; want %d, %t", c.name, got.seq, ok, c.seq, c.ok)
		}
	}
}

// Prefixes must not affect the order, even if they sort the other way round, contain the mark, or look like numbers.
func TestQueueSortsBySequenceAlone(t *testing.T) {
	want := []string{
		"zzz-lock-0000000001",
		"lock-0000000009-lock-0000000002",
		"_c_ffffffff-lock-0000000000-lock-0000000003",
		"0000000000-lock-0000000004",
		"lock-0000000010",
		"_c_lock-0000000000-x-lock-2147483646",
		// These come behind all others, in any order among themselves.
		"a-lock--2147483648",
		"b-lock-2147483647",
	}
	foreign := []string{"0", "lock", "zzz", "lock-1", "_c_-lock-00000000001", "__READ__0000000000"}
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		mixed := append(append([]string(nil), want...), foreign...)
		r.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
		var got []string
		for _, c := range mutexLayout.queue(mixed) {
			got = append(got, c.name)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("queue of %q (-want +got):\n%s", mixed, d)
		}
	}
}

func TestCheckPath(t *testing.T) {
	for path, ok := range map[string]bool{
		"/a": true, "/a/b-c/..d": true, "/ä": true,
		"": false, "/": false, "a": false, "/a/": false, "//a": false, "/a//b": false, "/a/./b": false, "/..": false,
		"/a\x00": false, "/a\n": false, "/\xff": false, "/\ue000": false,
	} {
		if err := checkPath(path); (err == nil) != ok || err != nil && !errors.Is(err, ErrInvalidPath) {
			t.Errorf("%q: %v", path, err)
		}
	}
	for path, want := range map[string]string{"/": "is the root", "/a/": "ends with /", "/a//b": "has an empty"} {
		if err := checkPath(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", path, err, want)
		}
	}
}
