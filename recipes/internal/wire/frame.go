package wire

import (
	"io"
	"math"

	"locklab/recipes/zkproto"
)

// ZooKeeper's codes of the requests that tests look at.
const (
	OpCreate          = zkproto.OpCreate
	OpDelete          = zkproto.OpDelete
	OpGetData         = zkproto.OpGetData
	OpSetData         = zkproto.OpSetData
	OpSync            = zkproto.OpSync
	OpPing            = zkproto.OpPing
	OpChildren        = zkproto.OpGetChildren2
	OpMulti           = zkproto.OpMulti
	OpCreate2         = zkproto.OpCreate2
	OpCreateContainer = zkproto.OpCreateContainer
	OpSetWatches      = zkproto.OpSetWatches
	OpClose           = zkproto.OpClose
)

// OpNames are the requests' names, for those of subtests.
var OpNames = map[int32]string{
	OpCreate:          "create",
	OpDelete:          "delete",
	OpGetData:         "getData",
	OpSetData:         "setData",
	OpSync:            "sync",
	OpPing:            "ping",
	OpChildren:        "getChildren",
	OpMulti:           "multi",
	OpCreate2:         "create2",
	OpCreateContainer: "createContainer",
	OpSetWatches:      "setWatches",
	OpClose:           "close",
}

// readFrame reads one frame, length included.
func readFrame(r io.Reader) ([]byte, error) {
	body, err := zkproto.ReadFrame(r, math.MaxInt32)
	return zkproto.Frame(body), err
}
