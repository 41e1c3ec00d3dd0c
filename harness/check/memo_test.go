package check

import (
	"sync"
	"testing"

	"locklab/harness/check/memo"
)

// A memo knows what was found out before, serves several goroutines at once, and may be asked while it finds something
// out.
func TestMemo(t *testing.T) {
	var m memo.Map[int, int]
	var factorial func(n int) int
	factorial = func(n int) int {
		return m.Of(n, func() int {
			if n == 0 {
				return 1
			}
			return n * factorial(n-1)
		})
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if got := factorial(5); got != 120 {
				t.Errorf("5! = %d, want 120", got)
			}
		})
	}
	all.Wait()
	if got := m.Of(4, func() int { t.Error("4! was known"); return 0 }); got != 24 {
		t.Errorf("4! = %d, want 24", got)
	}
}
