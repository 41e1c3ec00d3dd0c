package recipes

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"strings"
	"sync"
	"testing"

	"github.com/go-zookeeper/zk"
)

// The first requests and replies that do not fit into the first buffers, in either
// direction, on a connection that nothing large went over before.
func TestLargeOnFreshConnection(t *testing.T) {
	dir := lockPath(t)
	big := bytes.Repeat([]byte("x"), 20*firstBuffer)
	t.Run("create", func(t *testing.T) {
		if err := ensureDir(within(t), connected(t, SessionConfig{}).zk, path.Dir(dir)); err != nil {
			t.Fatal(err)
		}
		s := connected(t, SessionConfig{})
		var wg sync.WaitGroup
		for i := range 8 { // at the same time: none may go before the room for it is made
			wg.Go(func() {
				if _, err := s.zk.Create(within(t), fmt.Sprintf("%s-%d", dir, i), big, Ephemeral); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		got, _, err := connected(t, SessionConfig{}).zk.Get(within(t), dir+"-0")
		if err != nil || !bytes.Equal(got, big) {
			t.Errorf("read %d bytes, %v; want %d", len(got), err, len(big))
		}
	})
	t.Run("transaction", func(t *testing.T) {
		s := connected(t, SessionConfig{})
		if _, err := s.zk.Multi(within(t), Op{Kind: OpCreate, Path: dir + "-multi", Data: big, Mode: Ephemeral}); err != nil {
			t.Error(err)
		}
	})
	t.Run("too large", func(t *testing.T) {
		s := connected(t, SessionConfig{})
		_, err := s.zk.Create(within(t), dir+strings.Repeat("y", sendBuffer), nil, Ephemeral)
		if !errors.Is(err, zk.ErrShortBuffer) {
			t.Errorf("a request beyond the largest buffer: %v, want %v", err, zk.ErrShortBuffer)
		}
	})
}
