package txnlog

import (
	"cmp"
	"io/fs"
	"math"
	"slices"
)

// A Source is the logs of one server.
type Source struct {
	Server string
	Dir    fs.FS
}

// A rawRecord is a record of a server that is not decoded yet, or an error in its place.
type rawRecord struct {
	zxid    int64
	payload []byte
	file    string
	offset  int64 // of the record
	late    bool  // the server had logged a transaction of a later epoch before
	err     error
}

// rawRecord reads the next record. Its payload is appended to b, which is returned.
func (l *Reader) rawRecord(b []byte) (rawRecord, []byte, error) {
	was := len(b)
	b, err := l.payload(b)
	if err != nil {
		return rawRecord{}, b, err
	}
	rec := rawRecord{payload: b[was:], file: l.name, offset: l.start}
	if len(rec.payload) < zxidEnd {
		return rec, b, l.corrupt("%w", errShort)
	}
	rec.zxid = zxidOf(rec.payload)
	return rec, b, nil
}

// A batch is some records of one server, whose payloads are in buf.
type batch struct {
	records []rawRecord
	buf     []byte
}

const (
	batchBytes = 256 << 10 // how long buf is about
	batches    = 4         // how many of one server there are at most
)

// A stream yields the records of one server in the order of zxids. A goroutine of its own reads them ahead.
type stream struct {
	Source
	full, free chan *batch
	now        *batch
	at         int  // in now
	fell       bool // the server logged a record after one with a higher zxid
}

// read begins to read the records. It goes on until all of them have been taken or stop is closed.
func (s Source) read(stop <-chan struct{}) *stream {
	r := &stream{Source: s, full: make(chan *batch, batches), free: make(chan *batch, batches)}
	for range batches {
		r.free <- &batch{}
	}
	go func() {
		defer close(r.full)
		if r.fell = s.falls(); r.fell {
			r.sorted(stop)
		} else {
			r.inOrder(stop)
		}
	}()
	return r
}

// falls reports whether the server logged a record after one with a higher zxid.
func (s Source) falls() bool {
	var highest int64
	for zxid, err := range readDir(s.Dir, s.Server, (*Reader).zxid) {
		if err == nil && zxid < highest {
			return true
		}
		highest = max(highest, zxid)
	}
	return false
}

// inOrder passes the records on as they are read.
func (r *stream) inOrder(stop <-chan struct{}) {
	b := <-r.free
	for rec, err := range readDir(r.Dir, r.Server, func(l *Reader) (rec rawRecord, err error) {
		rec, b.buf, err = l.rawRecord(b.buf)
		return rec, err
	}) {
		if err != nil {
			rec = rawRecord{err: err}
		}
		b.records = append(b.records, rec)
		if len(b.buf) < batchBytes {
			continue
		}
		if !r.pass(b, stop) {
			return
		}
		select {
		case b = <-r.free:
			b.records, b.buf = b.records[:0], b.buf[:0]
		case <-stop:
			return
		}
	}
	r.pass(b, stop)
}

// pass passes a batch on, and reports whether more are wanted.
func (r *stream) pass(b *batch, stop <-chan struct{}) bool {
	select {
	case r.full <- b:
		return true
	case <-stop:
		return false
	}
}

// sorted keeps all records in memory to sort them. Few logs are such that it must. The errors come last.
func (r *stream) sorted(stop <-chan struct{}) {
	all := <-r.free
	var latest int64 // epoch
	for rec, err := range readDir(r.Dir, r.Server, func(l *Reader) (rec rawRecord, err error) {
		rec, _, err = l.rawRecord(nil)
		return rec, err
	}) {
		if err != nil {
			rec = rawRecord{err: err, zxid: math.MaxInt64}
		} else {
			rec.late = epoch(rec.zxid) < latest
			latest = max(latest, epoch(rec.zxid))
		}
		all.records = append(all.records, rec)
	}
	slices.SortStableFunc(all.records, func(a, b rawRecord) int { return cmp.Compare(a.zxid, b.zxid) })
	r.pass(all, stop)
}

// head returns the record that is next, nil if there is none. It is valid until [stream.skip] is called.
func (r *stream) head() *rawRecord {
	for r.now == nil || r.at == len(r.now.records) {
		if r.now != nil {
			r.free <- r.now
		}
		var more bool
		if r.now, more = <-r.full; !more {
			return nil
		}
		r.at = 0
	}
	return &r.now.records[r.at]
}

func (r *stream) skip() { r.at++ }
