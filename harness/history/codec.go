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

// decodeFrame reads the event of a frame that frameSize found whole. Equal
// strings are shared through intern.
func decodeFrame(b []byte, intern map[string]string) (Event, error) {
	n := int(binary.LittleEndian.Uint32(b))
	b = b[frameHeader : frameHeader+n]
	var e Event
	if len(b) == 0 {
		return e, ErrTorn
	}
	e.Kind = Kind(b[0])
	b = b[1:]
	var session int64
	for _, v := range [...]*int64{&e.At, &e.Acq, &e.Token, &session, &e.Value} {
		x, w := binary.Varint(b)
		if w <= 0 {
			return e, ErrTorn
		}
		*v, b = x, b[w:]
	}
	e.Session = SessionID(session)
	for _, s := range [...]*string{&e.Process, (*string)(&e.Op), &e.Client, &e.Lock, (*string)(&e.Mode), &e.Target,
		&e.Fault, &e.Detail} {
		l, w := binary.Uvarint(b)
		if w <= 0 || l > uint64(len(b)-w) {
			return e, ErrTorn
		}
		raw := b[w : w+int(l)]
		v, ok := intern[string(raw)]
		if !ok {
			v = string(raw)
			if s != &e.Detail || e.Op != OpAttempt { // a prefix of znode names that never comes again
				intern[v] = v
			}
		}
		*s, b = v, b[w+int(l):]
	}
	return e, nil
}
