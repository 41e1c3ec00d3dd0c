package history

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"sync/atomic"
	"unsafe"
)

// A raw history is a sequence of frames: length of the body (4 bytes), its
// CRC-32C (4 bytes), the body, zero padding to a multiple of 8. The length is
// stored last, atomically, so a reader of the same memory sees either a whole
// frame or none; the checksum catches what a torn disk or a bug would do.
const (
	frameHeader = 8
	frameAlign  = 8
	// maxFrame bounds one event; a longer length is corruption.
	maxFrame = 1 << 16
)

// ErrTorn marks the place where a raw history stops making sense: its last
// frame was being written when the process died.
var ErrTorn = errors.New("torn frame")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// bound returns the most bytes that e can take as a frame.
func bound(e *Event) int {
	return frameHeader + frameAlign + 1 + 5*binary.MaxVarintLen64 + 8*binary.MaxVarintLen32 +
		len(
			e.Process) + len(e.Op) + len(e.Client) + len(e.Lock) + len(e.Mode) + len(e.Target) + len(e.Fault) + len(e.Detail)
}

// putFrame writes e to buf, which must be at least bound(e) long, zeroed and
// 8-aligned, and publishes it. It returns the frame's padded length.
func putFrame(buf []byte, e *Event) int {
	b := append(buf[frameHeader:frameHeader], byte(e.Kind))
	for _, v := range [...]int64{e.At, e.Acq, e.Token, int64(e.Session), e.Value} {
		b = binary.AppendVarint(b, v)
	}
	for _, s := range [...]string{e.Process, string(e.Op), e.Client, e.Lock, string(e.Mode), e.Target, e.Fault, e.Detail} {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	binary.LittleEndian.PutUint32(buf[4:], crc32.Checksum(b, castagnoli))
	publish(buf, uint32(len(b)))
	return padded(frameHeader + len(b))
}

// checksumOf returns the checksum of a whole frame.
func checksumOf(b []byte) uint32 { return binary.LittleEndian.Uint32(b[4:]) }

func padded(n int) int { return (n + frameAlign - 1) &^ (frameAlign - 1) }

func publish(buf []byte, n uint32) {
	var le [4]byte
	binary.LittleEndian.PutUint32(le[:], n)
	atomic.StoreUint32((*uint32)(unsafe.Pointer(&buf[0])), *(*uint32)(unsafe.Pointer(&le[0])))
}

// frameSize returns the padded size of the whole frame at the head of b: 0 if
// none has begun there, -1 if b ends before the frame does, or ErrTorn.
func frameSize(b []byte) (int, error) {
	if len(b) < frameHeader {
		return -1, nil
	}
	n := int(binary.LittleEndian.Uint32(b))
	if n == 0 {
		return 0, nil
	}
	if n > maxFrame {
		return 0, ErrTorn
	}
	size := padded(frameHeader + n)
	if len(b) < size {
		return -1, nil
	}
	if crc32.Checksum(b[frameHeader:frameHeader+n], castagnoli) != binary.LittleEndian.Uint32(b[4:]) {
		return 0, ErrTorn
	}
	return size, nil
}

// The texts of a frame, in the order in which it has them.
const (
	textProcess = iota
	textOp
	textClient
	textLock
	textMode
	textTarget
	textFault
	textDetail
	texts
)

// A frame is an event whose texts have not been copied from where it was read.
type frame struct {
	kind                           Kind
	at, acq, token, session, value int64
	texts                          [texts][]byte
	form                           []byte // process, op and client, with their lengths
}

// parse reads a frame that frameSize found whole, and reports whether it has an event.
func (f *frame) parse(b []byte) bool {
	b = b[frameHeader : frameHeader+int(binary.LittleEndian.Uint32(b))]
	if len(b) == 0 {
		return false
	}
	f.kind = Kind(b[0])
	b = b[1:]
	for _, v := range [...]*int64{&f.at, &f.acq, &f.token, &f.session, &f.value} {
		x, w := binary.Varint(b)
		if w <= 0 {
			return false
		}
		*v, b = x, b[w:]
	}
	all := b
	for i := range f.texts {
		l, w := uint64(0), 1
		if len(b) > 0 && b[0] < 0x80 {
			l = uint64(b[0]) // mostly
		} else {
			l, w = binary.Uvarint(b)
		}
		if w <= 0 || l > uint64(len(b)-w) {
			return false
		}
		f.texts[i], b = b[w:w+int(l)], b[w+int(l):]
		if i == textClient {
			f.form = all[:len(all)-len(b)]
		}
	}
	return true
}

// event returns the frame's event. The function text makes its texts.
func (f *frame) event(text func([]byte) string) Event {
	t := &f.texts
	return Event{At: f.at, Kind: f.kind, Acq: f.acq, Token: f.token, Session: SessionID(f.session), Value: f.value,
		Process: text(t[textProcess]), Op: Op(text(t[textOp])), Client: text(t[textClient]), Lock: text(t[textLock]),
		Mode: Mode(text(t[textMode])), Target: text(t[textTarget]), Fault: text(t[textFault]),
		Detail: text(t[textDetail])}
}
