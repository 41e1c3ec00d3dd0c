package history

import "encoding/binary"

// A block has some events, encoded, and what is needed to skip it.
type block struct {
	data  []byte
	first int64  // when its first event was
	ops   uint64 // which ops it has
}

const (
	blockEvents = 128
	// mostTexts bounds the texts that are kept once each for all their events. Where every event has its own, as in a
	// list that only grows, further ones are kept with the events.
	mostTexts = 1 << 16
	mostSpare = 1 << 20 // of a long history; that of a short one has less
)

// A cursor has what the numbers of the next event are counted from. Each block begins with the zero cursor, so that it
// can be decoded by itself.
type cursor struct{ at, acq, token, value int64 }

// What follows in an encoded event. The first two bits of the first byte are the kind.
const (
	hasAcq = 1 << (iota + 2)
	hasToken
	hasSession
	hasValue
	hasLock
	hasMore // a second byte
)

const (
	hasMode = 1 << iota
	hasTarget
	hasFault
	hasDetail
	ownTarget // its text follows, instead of the text's number
	ownDetail
	oddKind // a kind that this version does not know
	hasGUID // in the detail, which lacks it: its bytes follow
)

// from yields the events of the blocks from the k-th on that have one of the ops, if their forms are wanted.
func (l *Log) from(k int, ops uint64, wanted []bool, yield func(int, Event) bool) {
	for ; k < len(l.blocks); k++ {
		b := &l.blocks[k]
		if b.ops&ops == 0 {
			continue
		}
		data, from := b.data, cursor{at: b.first}
		for i := k * blockEvents; len(data) > 0; i++ {
			var e Event
			var is bool
			if data, is = l.decode(data, &from, wanted, &e); is && !yield(i, e) {
				return
			}
		}
	}
}

func (l *Log) begin(at int64, form uint32) {
	if l.n%blockEvents == 0 {
		var open []byte
		if len(l.blocks) > 0 {
			done := &l.blocks[len(l.blocks)-1]
			open, done.data = done.data[:0], l.keep(done.data)
		}
		l.blocks = append(l.blocks, block{data: open, first: at})
		l.last = cursor{at: at}
	}
	l.blocks[len(l.blocks)-1].ops |= l.forms[form].bit
	l.n++
}

// keep copies the data of a block to where many blocks lie one behind the other.
func (l *Log) keep(data []byte) []byte {
	if len(l.spare) < len(data) {
		l.spare = make([]byte, max(min(16*l.n, mostSpare), len(data)))
	}
	n := copy(l.spare, data)
	kept := l.spare[:n:n]
	l.spare = l.spare[n:]
	return kept
}

// put adds the next event, encoded without what its form says.
func (l *Log) put(e *Event, form uint32) {
	l.begin(e.At, form)
	blk := &l.blocks[len(l.blocks)-1]
	flags, more := byte(0), byte(0)
	if e.Kind <= Fail {
		flags = byte(e.Kind)
	} else {
		more |= oddKind
	}
	target, detail := uint32(0), uint32(0)
	for _, f := range [...]struct {
		has  bool
		flag byte
	}{{e.Acq != 0, hasAcq}, {e.Token != 0, hasToken}, {e.Session != 0, hasSession}, {e.Value != 0, hasValue},
		{e.Lock != "", hasLock}} {
		if f.has {
			flags |= f.flag
		}
	}
	if e.Mode != "" {
		more |= hasMode
	}
	if e.Fault != "" {
		more |= hasFault
	}
	if e.Target != "" {
		more |= hasTarget
		if target = l.sharedText(e.Target); target == 0 {
			more |= ownTarget
		}
	}
	guid, text, is := cutGUID(e.Detail)
	if is {
		more |= hasGUID
	}
	if e.Detail != "" {
		more |= hasDetail
		if is || e.Op != OpAttempt { // else it is a prefix of znode names that never comes again
			detail = l.sharedText(text)
		}
		if detail == 0 {
			more |= ownDetail
		}
	}
	if more != 0 {
		flags |= hasMore
	}
	if e.Kind <= Fail {
		l.forms[form].kinds[e.Kind]++
	}
	b := append(blk.data, flags)
	if more != 0 {
		b = append(b, more)
	}
	b = binary.AppendUvarint(b, uint64(form))
	b = binary.AppendUvarint(b, uint64(e.At-l.last.at))
	l.last.at = e.At
	counted := func(v int64, last *int64) {
		if v != 0 {
			b = binary.AppendVarint(b, v-*last)
			*last = v
		}
	}
	counted(e.Acq, &l.last.acq)
	counted(e.Token, &l.last.token)
	if e.Session != 0 {
		b = binary.AppendUvarint(b, uint64(l.sessionID(e.Session)))
	}
	counted(e.Value, &l.last.value)
	if e.Lock != "" {
		if e.Lock != l.lock.text {
			l.lock.text, l.lock.id = e.Lock, l.text(e.Lock)
		}
		b = binary.AppendUvarint(b, uint64(l.lock.id))
	}
	if more&oddKind != 0 {
		b = append(b, byte(e.Kind))
	}
	if e.Mode != "" {
		b = binary.AppendUvarint(b, uint64(l.text(string(e.Mode))))
	}
	if e.Fault != "" {
		b = binary.AppendUvarint(b, uint64(l.text(e.Fault)))
	}
	b = appendText(b, e.Target, target)
	b = appendText(b, text, detail)
	if is {
		b = append(b, guid[:]...)
	}
	blk.data = b
}

// appendText appends the number of a text or, if it has none, the text itself.
func appendText(b []byte, text string, id uint32) []byte {
	switch {
	case text == "":
		return b
	case id != 0:
		return binary.AppendUvarint(b, uint64(id))
	}
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// decode reads the first event of data into e, which is zero, and returns what follows. It reads only the cursor of an
// event whose form is not wanted, and reports false then. Nil wants all.
func (l *Log) decode(data []byte, from *cursor, wanted []bool, e *Event) (rest []byte, is bool) {
	flags, more := data[0], byte(0)
	data = data[1:]
	if flags&hasMore != 0 {
		more, data = data[0], data[1:]
	}
	number := func() uint64 {
		if v := data[0]; v < 0x80 {
			data = data[1:]
			return uint64(v)
		}
		v, n := binary.Uvarint(data)
		data = data[n:]
		return v
	}
	counted := func(last *int64) int64 {
		v := number()
		d := int64(v >> 1)
		if v&1 != 0 {
			d = ^d
		}
		*last += d
		return *last
	}
	text := func(isOwn bool) string {
		v := number()
		if !isOwn {
			return l.texts[v]
		}
		own, rest := data[:v], data[v:]
		data = rest
		if !is {
			return ""
		}
		return string(own)
	}
	f := number()
	is = wanted == nil || wanted[f]
	if of := &l.forms[f]; is {
		e.Process, e.Op, e.Client, e.Kind = of.process, of.op, of.client, Kind(flags&3)
	}
	from.at += int64(number())
	e.At = from.at
	if flags&hasAcq != 0 {
		e.Acq = counted(&from.acq)
	}
	if flags&hasToken != 0 {
		e.Token = counted(&from.token)
	}
	if flags&hasSession != 0 {
		e.Session = l.sessions[number()]
	}
	if flags&hasValue != 0 {
		e.Value = counted(&from.value)
	}
	if flags&hasLock != 0 {
		e.Lock = l.texts[number()]
	}
	if more == 0 {
		return data, is
	}
	if more&oddKind != 0 {
		e.Kind, data = Kind(data[0]), data[1:]
	}
	if more&hasMode != 0 {
		e.Mode = Mode(l.texts[number()])
	}
	if more&hasFault != 0 {
		e.Fault = l.texts[number()]
	}
	if more&hasTarget != 0 {
		e.Target = text(more&ownTarget != 0)
	}
	if more&hasDetail != 0 {
		e.Detail = text(more&ownDetail != 0)
	}
	if more&hasGUID != 0 {
		if is {
			e.Detail = withGUID(e.Detail, data[:guidBytes])
		}
		data = data[guidBytes:]
	}
	return data, is
}
