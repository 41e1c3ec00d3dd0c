package zkproto

import (
	"encoding/binary"
	"errors"

	"github.com/go-zookeeper/zk"
)

// A Decoder reads a record. After an error it returns zero values.
type Decoder struct {
	B   []byte // what is still to be read
	Err error
}

// ErrShort says that a record ends too early.
var ErrShort = errors.New("the record ends too early")

func (d *Decoder) take(n int) []byte {
	if d.Err != nil || n > len(d.B) {
		d.Err = ErrShort
		return nil
	}
	b := d.B[:n]
	d.B = d.B[n:]
	return b
}

// Int32 reads an int.
func (d *Decoder) Int32() int32 {
	if b := d.take(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

// Int64 reads a long.
func (d *Decoder) Int64() int64 {
	if b := d.take(8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

// Bool reads a boolean.
func (d *Decoder) Bool() bool {
	b := d.take(1)
	return b != nil && b[0] != 0
}

// Bytes reads a buffer and returns a copy; nil if its length is negative.
func (d *Decoder) Bytes() []byte {
	n := d.Int32()
	if n < 0 {
		return nil
	}
	return append([]byte{}, d.take(int(n))...)
}

// Text reads a ustring.
func (d *Decoder) Text() string { return string(d.Bytes()) }

// ACL reads an entry of an access control list.
func (d *Decoder) ACL() zk.ACL { return zk.ACL{Perms: d.Int32(), Scheme: d.Text(), ID: d.Text()} }

// List reads as many items as its length says, and fewer after an error.
func List[T any](d *Decoder, item func() T) (all []T) {
	for n := d.Int32(); n > 0 && d.Err == nil; n-- {
		all = append(all, item())
	}
	return all
}

// An Encoder writes a record. Its methods return the encoder, so that a record is one expression.
type Encoder struct{ B []byte }

// Int32 writes an int.
func (e *Encoder) Int32(v int32) *Encoder {
	e.B = binary.BigEndian.AppendUint32(e.B, uint32(v))
	return e
}

// Int64 writes a long.
func (e *Encoder) Int64(v int64) *Encoder {
	e.B = binary.BigEndian.AppendUint64(e.B, uint64(v))
	return e
}

// Bool writes a boolean.
func (e *Encoder) Bool(v bool) *Encoder {
	if v {
		e.B = append(e.B, 1)
	} else {
		e.B = append(e.B, 0)
	}
	return e
}

// Bytes writes a buffer; nil has the length -1.
func (e *Encoder) Bytes(v []byte) *Encoder {
	if v == nil {
		return e.Int32(-1)
	}
	e.Int32(int32(len(v)))
	e.B = append(e.B, v...)
	return e
}

// Text writes a ustring.
func (e *Encoder) Text(v string) *Encoder {
	e.Int32(int32(len(v)))
	e.B = append(e.B, v...)
	return e
}

// ACL writes an access control list.
func (e *Encoder) ACL(list []zk.ACL) *Encoder {
	e.Int32(int32(len(list)))
	for _, a := range list {
		e.Int32(a.Perms).Text(a.Scheme).Text(a.ID)
	}
	return e
}

// StatLength is the length of a znode's stat, and ReplyHeader that of a reply's header: the request's number, the
// newest transaction, the code.
const (
	StatLength  = 6*8 + 5*4
	ReplyHeader = 4 + 8 + 4
)

// Stat writes a znode's stat.
func (e *Encoder) Stat(s zk.Stat) *Encoder {
	return e.Int64(s.Czxid).Int64(s.Mzxid).Int64(s.Ctime).Int64(s.Mtime).Int32(s.Version).Int32(s.Cversion).
		Int32(s.Aversion).Int64(s.EphemeralOwner).Int32(s.DataLength).Int32(s.NumChildren).Int64(s.Pzxid)
}
