package zkproto

// The kinds of requests (ZooDefs.OpCode).
const (
	OpCreate          int32 = 1
	OpDelete          int32 = 2
	OpExists          int32 = 3
	OpGetData         int32 = 4
	OpSetData         int32 = 5
	OpGetACL          int32 = 6
	OpSetACL          int32 = 7
	OpGetChildren     int32 = 8 // without a Stat; no client of today sends it
	OpSync            int32 = 9
	OpPing            int32 = 11
	OpGetChildren2    int32 = 12
	OpCheck           int32 = 13
	OpMulti           int32 = 14
	OpCreate2         int32 = 15 // create, answered with a Stat
	OpCreateContainer int32 = 19
	OpAuth            int32 = 100
	OpSetWatches      int32 = 101
	OpClose           int32 = -11
)

// EventXid stands in place of a request's number in the event of a watch, which answers none.
const EventXid int32 = -1

// The codes of a server's answers (KeeperException.Code).
const (
	CodeOK             int32 = 0
	CodeInconsistent   int32 = -2 // an operation of a multi that was not tried, because an earlier one was refused
	CodeLost           int32 = -4
	CodeUnimplemented  int32 = -6
	CodeTimedOut       int32 = -7
	CodeBadArguments   int32 = -8
	CodeNoNode         int32 = -101
	CodeNoAuth         int32 = -102
	CodeBadVersion     int32 = -103
	CodeEphemeral      int32 = -108 // it may not have children
	CodeNodeExists     int32 = -110
	CodeNotEmpty       int32 = -111
	CodeSessionExpired int32 = -112
	CodeInvalidACL     int32 = -114
	CodeAuthFailed     int32 = -115 // the server closes the connection then
	CodeMoved          int32 = -118
)
