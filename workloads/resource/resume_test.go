package resource

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"locklab/harness/history"
)

// A resource that takes over from another one refuses and answers as that one would have, in every mode and for
// lists.
func TestResume(t *testing.T) {
	for name, make := range map[string]func(bool, Recorder) *Resource{"counters": New, "lists": NewOfLists} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			open := func(dir string) *Resource {
				rec, err := history.NewRecorder(dir, "r1", history.NewClock())
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { rec.Close() })
				return make(true, rec)
			}
			do := func(r *Resource, a Access) Answer {
				var answer Answer
				if err := r.Do(a, &answer); err != nil {
					t.Fatal(err)
				}
				return answer
			}
			first := open(dir)
			for _, a := range []Access{
				{Op: history.OpWrite, Lock: "/a", Token: 5, Value: 1}, {Op: history.OpWrite, Lock: "/a", Token: 6, Value: 2,
					List: 1},
				{Op: history.OpWrite, Lock: "/a", Token: 3, Value: 9}, // refused
				{Op: history.OpRead, Lock: "/rw", Mode: history.ModeRead, Token: 8}, {Op: history.OpEnter, Lock: "/s",
					Mode: history.ModePermit, Slot: 2, Token: 7},
			} {
				do(first, a)
			}
			second := open(t.TempDir())
			if err := second.resume(dir); err != nil { // the first one's recorder is still open, as after a SIGKILL
				t.Fatal(err)
			}
			for _, a := range []Access{
				{Op: history.OpRead, Lock: "/a", Token: 5}, {Op: history.OpRead, Lock: "/a", Token: 6},
				{Op: history.OpWrite, Lock: "/rw", Mode: history.ModeWrite, Token: 7, Value: 1}, {Op: history.OpEnter, Lock: "/s",
					Mode: history.ModePermit, Slot: 2, Token: 6},
				{Op: history.OpEnter, Lock: "/s", Mode: history.ModePermit, Slot: 1, Token: 6},
				{Op: history.OpWrite, Lock: "/a", Token: 9, Value: 3, List: 2},
			} {
				if diff := cmp.Diff(do(first, a), do(second, a)); diff != "" {
					t.Errorf("%+v (-first +successor):\n%s", a, diff)
				}
			}
			if name == "lists" {
				var was, is []int64
				if err := first.List("/a", &was); err != nil {
					t.Fatal(err)
				}
				if err := second.List("/a", &is); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(was, is); diff != "" || len(was) != 3 {
					t.Errorf("lists %v and %v", was, is)
				}
			}
		})
	}
}
