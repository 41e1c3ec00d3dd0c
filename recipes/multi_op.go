package recipes

// OpKind is the kind of one operation of a transaction.
type OpKind int

// The operations that a transaction may have.
const (
	// OpCheck refuses the transaction unless the znode exists and has the version.
	OpCheck OpKind = iota
	// OpCreate creates a znode that everybody may use, of any mode but Container.
	OpCreate
	// OpDelete deletes a znode of the version.
	OpDelete
	// OpSet sets the data of a znode of the version.
	OpSet
)

// AnyVersion is the version that every znode has.
const AnyVersion = -1

// An Op is one operation of a transaction.
type Op struct {
	Kind    OpKind
	Path    string
	Data    []byte // OpCreate, OpSet
	Mode    Mode   // OpCreate
	Version int32  // OpCheck, OpDelete, OpSet; AnyVersion = whichever
}

// An OpResult is what became of one operation of a transaction.
type OpResult struct {
	// Path is the created znode's.
	Path string
	// Err is nil, or why the transaction was refused. Where another operation was the
	// reason it is nil for those before that one, and some error for those behind it.
	Err error
}
