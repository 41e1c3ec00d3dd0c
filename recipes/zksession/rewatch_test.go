package zksession

import (
	"testing"

	"locklab/recipes/zkproto"
)

// An answer counts only on a connection on which all watches are set.
func TestRewatch(t *testing.T) {
	type step = func(*rewatch)
	reset := func(length int, zxid int64) step {
		return func(w *rewatch) { w.answered(answer{op: zkproto.OpSetWatches, length: length, zxid: zxid}) }
	}
	read := func(zxid int64) step {
		return func(w *rewatch) { w.answered(answer{op: zkproto.OpGetData, zxid: zxid}) }
	}
	watched := func(w *rewatch) { w.add("/lock") }
	connected := func(w *rewatch) { w.dialled(); w.connected() }
	over := (*rewatch).remove
	for name, c := range map[string]struct {
		steps []step
		heard int64
	}{
		"the first connection":             {[]step{connected, watched, read(3)}, 3},
		"a reconnect without watches":      {[]step{connected, watched, read(3), over, connected, read(5)}, 5},
		"before the watches are set again": {[]step{connected, watched, read(3), connected, read(5)}, 3},
		"and after":                        {[]step{connected, watched, read(3), connected, read(5), reset(40, 6)}, 6},
		"an answer that comes later": {[]step{connected, watched, read(3), connected, reset(40, 6), read(7),
			read(6)}, 7},
		"never set again":        {[]step{connected, watched, read(3), connected, read(5), connected, read(6)}, 3},
		"the first of several":   {[]step{connected, watched, read(3), connected, reset(rewatchLimit-5, 6)}, 3},
		"and the last":           {[]step{connected, watched, read(3), connected, reset(rewatchLimit-5, 6), reset(40, 7)}, 7},
		"dialled, not connected": {[]step{connected, read(3), (*rewatch).dialled, read(5)}, 3},
		"pings count":            {[]step{connected, watched, func(w *rewatch) { w.answered(answer{op: 11, zxid: 4}) }}, 4},
	} {
		var w rewatch
		for _, step := range c.steps {
			step(&w)
		}
		if w.heard != c.heard {
			t.Errorf("%s: heard of all changes up to %d, want %d", name, w.heard, c.heard)
		}
	}
}
