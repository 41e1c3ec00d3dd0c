package history

import (
	"cmp"
	"encoding/binary"
	"iter"
	"slices"
	"sort"
)

// A Log holds the events of a run in the order of time. A run has millions of them, so a Log keeps them encoded, in a
// dozen bytes each, and decodes them as they are asked for. The zero Log and a nil one are empty.
type Log struct {
	blocks []block
	n      int

	forms    []seen
	formOf   map[form]uint32
	texts    []string
	textOf   map[string]uint32
	sessions []SessionID
	session  map[SessionID]uint32
	ops      map[Op]uint64 // the bit of an op in a block

	// What events are read from files with: a function that changes texts, the forms by the beginnings of frames, and
	// texts by themselves before they were changed.
	clean   func(string) string
	formRaw map[string]uint32
	textRaw map[string]string

	acquisitions *gathering // see [Acquisitions]

	spare []byte // room for further blocks
	last  cursor // of the last event
}

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

// A form is what many events have in common.
type form struct {
	process string
	op      Op
	client  string
}

// seen is a form with what is known of its events.
type seen struct {
	form
	kinds [Fail + 1]int // how many events there are of each kind
}

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
)

// NewLog returns a log of events. They need not be in the order of time; those of one time keep their order.
func NewLog(events []Event) *Log {
	l := &Log{}
	byTime := func(a, b Event) int { return cmp.Compare(a.At, b.At) }
	if !slices.IsSortedFunc(events, byTime) {
		events = slices.Clone(events)
		slices.SortStableFunc(events, byTime)
	}
	for i := range events {
		e := &events[i]
		l.begin(e.At, e.Op)
		l.put(e, l.formID(form{e.Process, e.Op, e.Client}))
	}
	return l
}

// Len is how many events there are.
func (l *Log) Len() int {
	if l == nil {
		return 0
	}
	return l.n
}

// All yields the events with their numbers, from 0.
func (l *Log) All() iter.Seq2[int, Event] {
	return func(yield func(int, Event) bool) {
		if l != nil {
			l.from(0, ^uint64(0), nil, yield)
		}
	}
}

// Of yields the events of some ops. It is cheap for ops that few events have.
func (l *Log) Of(ops ...Op) iter.Seq2[int, Event] {
	return l.Where(func(op Op) bool { return slices.Contains(ops, op) })
}

// Where yields the events whose ops match. It is cheap for ops that few events have.
func (l *Log) Where(match func(Op) bool) iter.Seq2[int, Event] {
	return func(yield func(int, Event) bool) {
		if l == nil {
			return
		}
		var mask uint64
		for op, bit := range l.ops {
			if match(op) {
				mask |= bit
			}
		}
		wanted := make([]bool, len(l.forms))
		for i, f := range l.forms {
			wanted[i] = match(f.op)
		}
		l.from(0, mask, wanted, yield)
	}
}

// Events returns all events, of a short history.
func (l *Log) Events() []Event {
	var all []Event
	for _, e := range l.All() {
		all = append(all, e)
	}
	return all
}

// Count is how many events there are of an op and a kind that this version knows.
func (l *Log) Count(op Op, kind Kind) int {
	if l == nil {
		return 0
	}
	n := 0
	for _, f := range l.forms {
		if f.op == op {
			n += f.kinds[kind]
		}
	}
	return n
}

// Sides yields each process with each client that it recorded an event of; the client is empty if the event was of
// none.
func (l *Log) Sides() iter.Seq2[string, string] {
	return func(yield func(process, client string) bool) {
		if l == nil {
			return
		}
		for _, f := range l.forms {
			if !yield(f.process, f.client) {
				return
			}
		}
	}
}

// First returns the first event of an op, and whether there is one.
func (l *Log) First(op Op) (Event, bool) {
	for _, e := range l.Of(op) {
		return e, true
	}
	return Event{}, false
}

// End is when the last event was, at the earliest the run's base.
func (l *Log) End() int64 {
	if l == nil {
		return 0
	}
	return max(l.last.at, 0)
}

// Since yields the events at a time and after it.
func (l *Log) Since(at int64) iter.Seq2[int, Event] {
	return func(yield func(int, Event) bool) {
		if l == nil {
			return
		}
		k := sort.Search(len(l.blocks), func(k int) bool { return l.blocks[k].first >= at })
		l.from(max(k-1, 0), ^uint64(0), nil, func(i int, e Event) bool { return e.At < at || yield(i, e) })
	}
}

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
			var f uint32
			data, f = l.decode(data, &from, &e)
			if (wanted == nil || wanted[f]) && !yield(i, e) {
				return
			}
		}
	}
}

func newRawLog(clean func(string) string) *Log {
	if clean == nil {
		clean = func(text string) string { return text }
	}
	return &Log{clean: clean, formRaw: map[string]uint32{}, textRaw: map[string]string{}}
}

// add adds an event that was read from a file.
func (l *Log) add(f *frame) {
	t := &f.texts
	id, known := l.formRaw[string(f.form)]
	if !known {
		id = l.formID(form{l.shared(t[textProcess]), Op(l.shared(t[textOp])), l.shared(t[textClient])})
		l.formRaw[string(f.form)] = id
	}
	is := &l.forms[id]
	e := Event{At: f.at, Kind: f.kind, Acq: f.acq, Token: f.token, Session: SessionID(f.session), Value: f.value,
		Process: is.process, Op: is.op, Client: is.client, Lock: l.shared(t[textLock]), Mode: Mode(l.shared(t[textMode])),
		Target: l.shared(t[textTarget]), Fault: l.shared(t[textFault])}
	if is.op == OpAttempt {
		e.Detail = l.clean(string(t[textDetail]))
	} else {
		e.Detail = l.shared(t[textDetail])
	}
	l.begin(e.At, e.Op)
	l.put(&e, id)
}

// shared returns a text of a frame, clean. Equal texts share memory.
func (l *Log) shared(raw []byte) string {
	if len(raw) == 0 {
		return ""
	}
	text, known := l.textRaw[string(raw)]
	if !known {
		text = l.clean(string(raw))
		if len(l.textRaw) < mostTexts {
			l.textRaw[string(raw)] = text
		}
	}
	return text
}

// begin makes room for an event.
func (l *Log) begin(at int64, op Op) {
	if l.n%blockEvents == 0 {
		var open []byte
		if len(l.blocks) > 0 {
			done := &l.blocks[len(l.blocks)-1]
			open, done.data = done.data[:0], l.keep(done.data)
		}
		l.blocks = append(l.blocks, block{data: open, first: at})
		l.last = cursor{at: at}
	}
	if l.ops == nil {
		l.ops, l.textOf, l.session = map[Op]uint64{}, map[string]uint32{}, map[SessionID]uint32{}
	}
	bit, known := l.ops[op]
	if !known {
		bit = 1 << min(len(l.ops), 63)
		l.ops[op] = bit
	}
	l.blocks[len(l.blocks)-1].ops |= bit
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

// put encodes an event, without what its form says.
func (l *Log) put(e *Event, form uint32) {
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
	if e.Detail != "" {
		more |= hasDetail
		if e.Op != OpAttempt { // a prefix of znode names that never comes again
			detail = l.sharedText(e.Detail)
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
		b = binary.AppendUvarint(b, uint64(l.text(e.Lock)))
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
	blk.data = appendText(b, e.Detail, detail)
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

// decode reads the first event of data into e, which is zero, and returns what follows, and the event's form.
func (l *Log) decode(data []byte, from *cursor, e *Event) (rest []byte, f uint32) {
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
	text := func(own bool) string {
		v := number()
		if !own {
			return l.texts[v]
		}
		s := string(data[:v])
		data = data[v:]
		return s
	}
	f = uint32(number())
	is := &l.forms[f]
	e.Process, e.Op, e.Client, e.Kind = is.process, is.op, is.client, Kind(flags&3)
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
		return data, f
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
	return data, f
}

func (l *Log) formID(f form) uint32 {
	id, known := l.formOf[f]
	if !known {
		if l.formOf == nil {
			l.formOf = map[form]uint32{}
		}
		id = uint32(len(l.forms))
		l.formOf[f], l.forms = id, append(l.forms, seen{form: f})
	}
	return id
}

func (l *Log) sessionID(s SessionID) uint32 {
	id, known := l.session[s]
	if !known {
		id = uint32(len(l.sessions))
		l.session[s], l.sessions = id, append(l.sessions, s)
	}
	return id
}

// text returns the number of a text, from 1.
func (l *Log) text(s string) uint32 {
	id, known := l.textOf[s]
	if !known {
		if len(l.texts) == 0 {
			l.texts = append(l.texts, "") // so that 0 is no text
		}
		id = uint32(len(l.texts))
		l.textOf[s], l.texts = id, append(l.texts, s)
	}
	return id
}

// sharedText is text, or 0 if there are too many texts already.
func (l *Log) sharedText(s string) uint32 {
	if id, known := l.textOf[s]; known || len(l.texts) >= mostTexts {
		return id
	}
	return l.text(s)
}
