package recipes

import (
	"context"
	"fmt"

	"github.com/go-zookeeper/zk"
)

func (c *connection) Multi(ctx context.Context, ops ...Op) ([]OpResult, error) {
	requests := make([]any, len(ops))
	for i, op := range ops {
		switch op.Kind {
		case OpCheck:
			requests[i] = &zk.CheckVersionRequest{Path: op.Path, Version: op.Version}
		case OpCreate:
			flags, ok := map[Mode]int32{Persistent: zk.FlagPersistent, Ephemeral: zk.FlagEphemeral, EphemeralSequential: zk.FlagEphemeralSequential}[op.Mode]
			if !ok {
				return nil, fmt.Errorf("multi: create %s: mode %d is not one for a transaction", op.Path, op.Mode)
			}
			requests[i] = &zk.CreateRequest{Path: op.Path, Data: op.Data, Acl: zk.WorldACL(zk.PermAll), Flags: flags}
		case OpDelete:
			requests[i] = &zk.DeleteRequest{Path: op.Path, Version: op.Version}
		case OpSet:
			requests[i] = &zk.SetDataRequest{Path: op.Path, Data: op.Data, Version: op.Version}
		default:
			return nil, fmt.Errorf("multi: no operation %d", op.Kind)
		}
	}
	answers, err := request(ctx, c, func() ([]zk.MultiResponse, error) { return c.conn.Multi(requests...) })
	if len(answers) != len(ops) {
		return nil, err // it was not the operations that were refused
	}
	results := make([]OpResult, len(answers))
	for i, a := range answers {
		results[i] = OpResult{Path: a.String, Err: c.translate(a.Error)}
	}
	return results, err
}
