package scenario

// rank orders where a value can come from; the higher overrides the lower.
type rank int

const (
	fromDefault rank = iota
	fromFile
	fromEnv
	fromFlag
)

// An origin is where a value came from.
type origin struct {
	rank         rank
	line, column int    // of the key, fromFile
	name         string // fromEnv, fromFlag: as the user spelled it
}
