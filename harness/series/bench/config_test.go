package bench

import (
	"reflect"
	"slices"
	"testing"

	"locklab/harness/scenario"
)

func load(t *testing.T, src string) *scenario.Scenario {
	t.Helper()
	sc, err := scenario.Load("test.yaml", []byte(src))
	if err == nil {
		err = sc.Validate()
	}
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

func vary(t *testing.T, base *scenario.Scenario, key, value string) *scenario.Scenario {
	t.Helper()
	head, err := base.Vary("--vs "+key, key, value)
	if err == nil {
		err = head.Validate()
	}
	if err != nil {
		t.Fatal(err)
	}
	return head
}

// Pairs take turns, each side is first in half of them, and the seed decides all of it.
func TestTurns(t *testing.T) {
	for _, count := range []int{1, 2, 7, 10} {
		orders := map[string]bool{}
		for seed := range uint64(20) {
			base := load(t, "recipe: mutex")
			base.Seed = seed + 1
			p := Config{Base: base, Head: vary(t, base, "clients", "9"), Count: count}
			turns := p.Turns()
			if !reflect.DeepEqual(turns, p.Turns()) {
				t.Fatal("the same plan has another order")
			}
			order, headFirst := "", 0
			seeds := map[uint64]bool{}
			for i := 0; i < len(turns); i += 2 {
				a, b := turns[i], turns[i+1]
				if a.Side == b.Side || a.Number != i/2+1 || b.Number != a.Number || a.Seed != b.Seed || a.Seed == 0 {
					t.Errorf("turns %d and %d are %+v and %+v", i, i+1, a, b)
				}
				if a.Side == Head {
					headFirst++
				}
				order += a.Side[:1]
				seeds[a.Seed] = true
			}
			if len(turns) != 2*count || headFirst != count/2 || len(seeds) != count {
				t.Errorf("%d turns, head first in %d, %d seeds", len(turns), headFirst, len(seeds))
			}
			orders[order] = true
		}
		if count > 2 && len(orders) < 5 {
			t.Errorf("only %d orders of %d pairs", len(orders), count)
		}
	}
	one := Config{Base: load(t, "recipe: mutex"), Count: 3}
	for i, turn := range one.Turns() {
		if turn.Side != Base || turn.Number != i+1 {
			t.Errorf("turn %d of one side is %+v", i, turn)
		}
	}
}

// Keys of the environment that follow from a varied key may differ too, and no others.
func TestVaried(t *testing.T) {
	base := load(t, "recipe: mutex\nsession-timeout: 2s\ntick: 200ms")
	for _, c := range []struct {
		key, value string
		want       []string
	}{
		{"recipe", "naive-mutex", []string{"recipe"}},
		{"clients", "64", []string{"clients"}},
		{"session-timeout", "3s", []string{"session-timeout", "env.session_timeout_ns"}},
		{"tick", "1s", []string{"tick"}},
		{"tick", "2s", []string{"tick", "env.session_timeout_ns"}}, // 2 ticks is the least
		{"heap", "512MiB", []string{"heap", "env.java_options"}},
		{"jvm", "production", []string{"jvm", "env.java_options"}},
		{"round-trip", "0s", []string{"round-trip", "env.relayed"}},
		{"workload", "read-write", []string{"workload", "recipe", "read-share", "downgrade-share"}},
		{"iterations", "50", []string{"duration", "iterations"}},
	} {
		got := Config{Base: base, Head: vary(t, base, c.key, c.value)}.Varied()
		if !slices.Equal(got, c.want) {
			t.Errorf("%s=%s varies %v, want %v", c.key, c.value, got, c.want)
		}
	}
	if got := (Config{Base: base, Head: base.Clone()}).Varied(); len(got) != 0 {
		t.Errorf("the same varies %v", got)
	}
}
