package recipes

import (
	"context"

	"github.com/go-zookeeper/zk"
)

func (c *connection) ChildrenW(ctx context.Context, path string, fired func(Event)) ([]string, error) {
	return request(ctx, c, func() ([]string, error) {
		names, _, events, err := c.conn.ChildrenW(path)
		if err != nil {
			return nil, err
		}
		if !c.calls.start(func() { fired(c.watched(events)) }) {
			return nil, zk.ErrClosing
		}
		return names, nil
	})
}
