package client

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"locklab/recipes"
	"locklab/workloads"
	"locklab/workloads/lock"
	"locklab/workloads/resource"
)

// In a term, a client enters once, and then reads and writes again and again. The term ends when it is planned to, when
// the client is told of a loss, when the window closes, and when an access is refused.
func TestTerm(t *testing.T) {
	for name, c := range map[string]struct {
		term time.Duration
		// after is how long after the grant end is called.
		after time.Duration
		end   func(lose func(error), window context.CancelFunc, r *resource.Resource)
		want  string
		took  time.Duration
	}{
		"no term": {want: "enter read write exit", took: 10 * time.Millisecond},
		"planned": {term: 25 * time.Millisecond, want: "enter read write read write read write exit",
			took: 30 * time.Millisecond},
		"lost": {term: time.Hour, after: 15 * time.Millisecond,
			end:  func(lose func(error), _ context.CancelFunc, _ *resource.Resource) { lose(errors.New("gone")) },
			want: "enter read write read write exit", took: 20 * time.Millisecond},
		"window closes": {term: time.Hour, after: 15 * time.Millisecond,
			end:  func(_ func(error), window context.CancelFunc, _ *resource.Resource) { window() },
			want: "enter read write read write exit", took: 20 * time.Millisecond},
		"refused": {term: time.Hour, after: 15 * time.Millisecond,
			end: func(_ func(error), _ context.CancelFunc, r *resource.Resource) {
				var answer resource.Answer
				_ = r.Do(resource.Access{Op: "read", Lock: "/l", Client: "c2/0", Acq: 1, Mode: "exclusive", Token: 6}, &answer)
			},
			want: "enter read write read write:refused", took: 20 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			cfg := valid()
			cfg.Locks, cfg.Term, cfg.Hold = []string{"/l"}, c.term, workloads.Always(10*time.Millisecond)
			var lose func(error)
			contends, said := contender(t, cfg, fakeSource{grant: func(_ context.Context, w lock.Want) (*lock.Grant, error) {
				var hold *recipes.Hold
				hold, lose = newHeld(5, nil)
				return lock.Single("/l", w.Mode, hold), nil
			}})
			limits := always()
			begin, cancel := context.WithCancel(t.Context())
			defer cancel()
			limits.begin = begin
			h := contends.acquire(t.Context(), limits, contends.choose(),
				func(ctx context.Context) (*lock.Grant, error) { return contends.source.Acquire(ctx, contends.choose()) })
			if c.end != nil {
				served := contends.p.resource.(direct).Resource
				time.AfterFunc(c.after, func() { c.end(lose, cancel, served) })
			}
			granted := time.Now()
			if err := contends.section(limits, h); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if took := time.Since(granted); took != c.took {
				t.Errorf("%s: took %s, want %s", name, took, c.took)
			}
			release(t.Context(), h)
			var ops []string
			for _, line := range said() {
				words := strings.Fields(line)
				switch op, kind := words[1], words[2]; {
				case op == "acquire" || op == "release" || op == "lost" || kind == "invoke":
				case kind == "fail":
					ops = append(ops, op+":refused")
				default:
					ops = append(ops, op)
				}
			}
			if got := strings.Join(ops, " "); got != c.want {
				t.Errorf("%s: %s, want %s", name, got, c.want)
			}
		})
	}
}
