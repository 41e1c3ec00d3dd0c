package history

import "io"

// An ahead reads the events of a file that are not late. A goroutine of its own reads and decodes them in batches, so
// that whoever merges several files need not wait.
type ahead struct {
	full, free chan *batch
	now        *batch
	at         int // in now
}

// A batch is some events of one file, with the bytes that they are made of.
type batch struct {
	frames [256]frame
	n      int // of frames
	buf    []byte
	err    error // what follows them, unless it is the end of the file
}

// batches is how many batches of one file there are.
const batches = 3

func newAhead() *ahead {
	a := &ahead{full: make(chan *batch, batches), free: make(chan *batch, batches)}
	for range batches {
		a.free <- &batch{}
	}
	return a
}

// read reads all events, or as many as it can until stop is closed.
func (a *ahead) read(f *rawFile, stop <-chan struct{}) {
	defer close(a.full)
	r := frameReader{r: io.NewSectionReader(f.file, 0, f.whole), size: frameRead}
	late := f.late
	for more := true; more; {
		select {
		case b := <-a.free:
			late, more = b.fill(&r, late)
			a.full <- b // there is room for all batches
		case <-stop:
			return
		}
	}
}

// fill fills the batch with the next events apart from late ones. It returns the late ones that are still to come, and
// whether more events may follow.
func (b *batch) fill(r *frameReader, late []place) (left []place, more bool) {
	b.n, b.buf = 0, b.buf[:0]
	for b.n < len(b.frames) {
		raw, err := r.next()
		if len(raw) == 0 || err != nil {
			b.err = err
			return late, false
		}
		at := r.offset
		r.skip(len(raw))
		if len(late) > 0 && late[0].offset == at {
			late = late[1:]
			continue
		}
		if cap(b.buf)-len(b.buf) < len(raw) {
			b.buf = make([]byte, 0, max(2*cap(b.buf), len(raw), oneFrame)) // frames keep the bytes that they have
		}
		b.buf = append(b.buf, raw...)
		if b.err = b.frames[b.n].read(b.buf[len(b.buf)-len(raw):], at); b.err != nil {
			return late, false
		}
		b.n++
	}
	return late, true
}

// next returns the next event, which is valid until the call after; nil after the last one.
func (a *ahead) next() (*frame, error) {
	for a.now == nil || a.at == a.now.n {
		if a.now != nil {
			if a.now.err != nil {
				return nil, a.now.err
			}
			a.free <- a.now
		}
		if a.now, a.at = <-a.full, 0; a.now == nil {
			return nil, nil
		}
	}
	f := &a.now.frames[a.at]
	a.at++
	return f, nil
}
