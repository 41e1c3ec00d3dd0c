package history

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// ErrNoBeginning says that no history below a directory has the run's beginning, because the harness died before it
// had recorded anything.
var ErrNoBeginning = errors.New("no history has the run's beginning")

// ReadRaw reads every raw history below dir, merges them by time and shifts them to the run's base, which the harness
// recorded as [OpBegin]. The records say what each file is. A torn tail is not an error, because a crash leaves it
// behind. The function clean, unless it is nil, changes each text before anything sees it, apart from the records.
//
// Each folder of dir has what the host of that name recorded, by the host's clock. It is placed on the run's clock by
// the harness's readings ([ClockReading]), and [Log.Clocks] says by how much it may be off. This is the only place
// where that is done, so whoever reads a Log sees nothing but times of the run.
//
// Each file is read twice: to find out whether it is whole and which of its events are late, and to merge it. The files
// are read at the same time.
func ReadRaw(dir string, clean func(string) string) (*Log, []Record, error) {
	files, err := openRaw(dir)
	defer func() {
		for _, f := range files {
			f.file.Close()
		}
	}()
	if err != nil {
		return nil, nil, fmt.Errorf("read histories: %w", err)
	}
	var scanned sync.WaitGroup
	for _, f := range files {
		scanned.Go(func() { f.err = f.scan() })
	}
	scanned.Wait()
	var records []Record
	var begin *rawFile
	for _, f := range files {
		if f.err != nil {
			return nil, records, fmt.Errorf("read histories: %w", f.err)
		}
		records = append(records, f.record)
		if f.begins && (begin == nil || f.begin < begin.begin) {
			begin = f
		}
	}
	if begin == nil {
		return nil, records, fmt.Errorf("read histories in %s: %w", dir, ErrNoBeginning)
	}
	clocks := clocksOf(files, begin)
	log, err := mergeRaw(files, begin.base, clocks, clean)
	return log, records, err
}

// clocksOf returns the clocks of hosts by the harness's readings, which are in the record that has the run's beginning.
func clocksOf(files []*rawFile, begin *rawFile) *Clocks {
	var readings []ClockReading
	for _, f := range files {
		if f.host() == begin.host() {
			readings = append(readings, f.readings...)
		}
	}
	clocks := NewClocks(readings)
	for _, f := range files {
		if f.whole > 0 {
			clocks.Covers(f.host(), f.earliest, f.latest)
		}
	}
	return clocks
}

// openRaw opens every raw history below dir. What bears the name of one and is no file, such as a link that leads
// nowhere, counts as missing.
func openRaw(dir string) (files []*rawFile, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, SegmentSuffix) {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if st, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) || err == nil && !st.Mode().IsRegular() {
			return nil
		}
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		files = append(files, &rawFile{file: file, order: len(files), record: Record{File: filepath.ToSlash(name)}})
		return nil
	})
	return files, err
}

// mergeRaw merges files that have been scanned, places their events on the run's clock, and shifts them to the base.
func mergeRaw(files []*rawFile, base int64, clocks *Clocks, clean func(string) string) (*Log, error) {
	var reading sync.WaitGroup
	defer reading.Wait()
	stop := make(chan struct{})
	defer close(stop)
	log := &Log{clocks: clocks}
	var streams merge
	for _, f := range files {
		late := slices.Clone(f.late)
		slices.SortFunc(late, byPlace)
		inOrder := newAhead()
		reading.Go(func() { inOrder.read(f, newDecoder(clean), stop) })
		clock := clocks.of(f.host())
		for _, s := range [...]*stream{{rawFile: f, ahead: inOrder, clock: clock},
			{rawFile: f, late: late, decoder: newDecoder(clean), clock: clock}} {
			s.placed = None
			if err := streams.add(s); err != nil {
				return nil, fmt.Errorf("read history %s: %w", f.record.File, err)
			}
		}
	}
	for len(streams) > 0 {
		s := streams[0]
		log.add(s.entry, base)
		more, err := s.next()
		if err != nil {
			return nil, fmt.Errorf("read history %s: %w", s.record.File, err)
		}
		if !more {
			streams[0] = streams[len(streams)-1]
			streams = streams[:len(streams)-1]
		}
		streams.down(0)
	}
	return log, nil
}

// A rawFile is one file of raw history.
type rawFile struct {
	file   *os.File
	order  int // among the files
	record Record
	whole  int64   // how many of its bytes are whole events
	late   []place // the events that happened before the one before them, or before an earlier one

	earliest, latest int64 // times of its events
	readings         []ClockReading

	begins      bool  // it has the run's beginning,
	begin, base int64 // which has this time and this base

	err error // of scanning it
}

// host is the host whose folder has the file.
func (f *rawFile) host() string {
	host, _, _ := strings.Cut(f.record.File, "/")
	return host
}

// A place is where in its file an event is.
type place struct{ at, offset int64 }

func byPlace(a, b place) int {
	switch {
	case a.at < b.at || a.at == b.at && a.offset < b.offset:
		return -1
	case a == b:
		return 0
	}
	return 1
}

// scan finds out what the file has.
func (f *rawFile) scan() error {
	r := frameReader{r: f.file, size: frameRead}
	var e frame
	f.earliest, f.latest = math.MaxInt64, None
	for {
		b, err := r.next()
		if err == nil && len(b) > 0 && !e.parse(b) {
			err = ErrTorn
		}
		if err != nil && !errors.Is(err, ErrTorn) {
			return err
		}
		if err != nil || len(b) == 0 {
			return f.tail(&r, err != nil)
		}
		f.record.note(&e, checksumOf(b), f.whole == 0)
		switch op := e.texts[textOp]; {
		case string(op) == string(OpBegin) && (!f.begins || e.at < f.begin):
			f.begins, f.begin, f.base = true, e.at, e.value
		case string(op) == string(OpHostClock):
			is := e.event(func(text []byte) string { return string(text) })
			f.readings = append(f.readings, is.ClockReading())
		}
		if f.earliest = min(f.earliest, e.at); e.at < f.latest {
			f.late = append(f.late, place{e.at, r.offset})
		} else {
			f.latest = e.at
		}
		r.skip(len(b))
		f.whole = r.offset
	}
}

// tail looks at what is behind the whole events.
func (f *rawFile) tail(r *frameReader, torn bool) error {
	for {
		b := r.buf[r.from:r.to]
		torn = torn || slices.ContainsFunc(b, func(c byte) bool { return c != 0 })
		r.skip(len(b))
		if err := r.fill(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
	}
	f.record.Bytes = r.offset
	if torn {
		f.record.Torn = r.offset - f.whole
	} else {
		f.record.Zeros = r.offset - f.whole
	}
	return nil
}

// A frameReader reads a raw history frame by frame.
type frameReader struct {
	r        io.Reader
	size     int // of buf at first
	buf      []byte
	from, to int   // what of buf has been read, and is to be returned
	offset   int64 // of buf[from]
}

const (
	frameRead = 256 << 10 // how much is read at once
	oneFrame  = 512       // enough for most frames
)

// next returns the next frame, or nothing if there is none, or [ErrTorn].
func (r *frameReader) next() ([]byte, error) {
	for {
		size, err := frameSize(r.buf[r.from:r.to])
		if size >= 0 {
			return r.buf[r.from : r.from+size], err
		}
		if err := r.fill(); errors.Is(err, io.EOF) {
			return nil, nil
		} else if err != nil {
			return nil, err
		}
	}
}

func (r *frameReader) skip(n int) { r.from, r.offset = r.from+n, r.offset+int64(n) }

func (r *frameReader) fill() error {
	r.to = copy(r.buf, r.buf[r.from:r.to])
	r.from = 0
	if r.to == len(r.buf) {
		r.buf = append(r.buf, make([]byte, max(r.size, len(r.buf)))...)
	}
	n, err := r.r.Read(r.buf[r.to:])
	r.to += n
	if n > 0 {
		return nil
	}
	return err
}

// A stream yields events of a file in the order of time: either the late ones, or all others.
type stream struct {
	*rawFile
	entry *entry // the next event

	clock  *track // of the host; nil for the run's
	placed int64  // the last time on the run's clock, unless clock is nil

	ahead   *ahead // yields the others; nil for the late ones
	late    []place
	decoder *decoder // of the late ones
	own     entry    // a late one,
	buf     []byte   // and its bytes
}

// next reads the next event, places it on the run's clock, and reports whether there is one.
func (s *stream) next() (more bool, err error) {
	if more, err = s.read(); !more || err != nil || s.clock == nil {
		return more, err
	}
	// The order of events stays as it is even where the readings of the clock contradict each other.
	s.entry.At = max(s.clock.place(s.entry.At), s.placed)
	s.placed = s.entry.At
	return more, err
}

// read reads the next event, and reports whether there is one.
func (s *stream) read() (more bool, err error) {
	if s.ahead != nil {
		s.entry, err = s.ahead.next()
		return s.entry != nil, err
	}
	if len(s.late) == 0 {
		return false, nil
	}
	from := s.late[0].offset
	s.late = s.late[1:]
	r := frameReader{r: io.NewSectionReader(s.file, from, s.whole-from), size: oneFrame, buf: s.buf, offset: from}
	b, err := r.next()
	s.buf = r.buf
	if err != nil {
		return false, err
	}
	s.entry = &s.own
	return true, s.decoder.decode(&s.own, b, from)
}

// before is the order of the events of two streams. Events of one time are in the order of their files.
func (s *stream) before(t *stream) bool {
	if s.entry.At != t.entry.At {
		return s.entry.At < t.entry.At
	}
	if s.order != t.order {
		return s.order < t.order
	}
	return s.entry.offset < t.entry.offset
}

// A merge is a heap of streams. The one with the first event is on top.
type merge []*stream

func (m *merge) add(s *stream) error {
	if more, err := s.next(); !more {
		return err
	}
	*m = append(*m, s)
	for i := len(*m) - 1; i > 0 && (*m)[i].before((*m)[(i-1)/2]); i = (i - 1) / 2 {
		(*m)[i], (*m)[(i-1)/2] = (*m)[(i-1)/2], (*m)[i]
	}
	return nil
}

// down moves the stream at i down to its place.
func (m merge) down(i int) {
	for {
		first := 2*i + 1
		if first >= len(m) {
			return
		}
		if second := first + 1; second < len(m) && m[second].before(m[first]) {
			first = second
		}
		if !m[first].before(m[i]) {
			return
		}
		m[i], m[first] = m[first], m[i]
		i = first
	}
}
