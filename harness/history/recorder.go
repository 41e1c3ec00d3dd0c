package history

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// segmentSize is how much of a history one memory-mapped file holds. It is small enough to be cheap for an agent with
// little to say, and large enough that a busy client maps a new file only every few seconds.
const segmentSize = 4 << 20

// SegmentSuffix ends the names of raw history files.
const SegmentSuffix = ".hist"

// A Recorder writes one process's events to memory-mapped files, which outlive
// a SIGKILL of the process: once Record has returned, the event is in the page
// cache. Many goroutines may record at once.
type Recorder struct {
	clock   Clock
	process string
	dir     string

	mu   sync.Mutex
	seg  []byte // mapped, nil once closed
	file *os.File
	used int
	// segments is how many segments there are, which is the number of the next.
	segments atomic.Int64
	backlog  backlog
	// recorded is how many events were recorded, and sum the sum of their checksums. An event was refused if lost is set.
	recorded int64
	sum      uint64
	lost     bool
	grown    chan struct{} // see Grown; nil if nobody waits
}

// NewRecorder starts a history in dir, which must not hold one yet.
func NewRecorder(dir, process string, clock Clock) (*Recorder, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("record history: %w", err)
	}
	r := &Recorder{clock: clock, process: process, dir: dir, backlog: newBacklog(dir)}
	if err := r.rotate(); err != nil {
		return nil, err
	}
	return r, nil
}

// Clock returns the clock that stamps the events.
func (r *Recorder) Clock() Clock { return r.clock }

// Record writes e. It stamps e with the time and names its process, unless e has these already, and cuts a Detail that
// makes the event too long. It fails when no memory can be mapped, after Close, and for an event that is too long
// without its Detail. The caller must then stop, because an operation without a record is worse than none.
func (r *Recorder) Record(e Event) error {
	if e.At == 0 {
		e.At = r.clock.Now()
	}
	if e.Process == "" {
		e.Process = r.process
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	checksum, err := r.put(e)
	if err != nil {
		r.lost = true
		return err
	}
	r.recorded++
	r.sum += uint64(checksum)
	if r.grown != nil {
		close(r.grown)
		r.grown = nil
	}
	return nil
}

// Grown returns a channel that is closed when the next event has been recorded.
func (r *Recorder) Grown() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.grown == nil {
		r.grown = make(chan struct{})
	}
	return r.grown
}

// put writes a stamped event and returns the checksum of its frame. r.mu is held.
func (r *Recorder) put(e Event) (checksum uint32, err error) {
	need := bound(&e)
	if need > maxFrame {
		e.Detail = e.Detail[:max(0, len(e.Detail)-(need-maxFrame))]
		if need = bound(&e); need > maxFrame {
			return 0, fmt.Errorf("record history: event %s is too long", e.Op)
		}
	}
	if r.seg == nil {
		return 0, errors.New("record history: recorder is closed")
	}
	if r.used+need > len(r.seg) {
		if err := r.rotate(); err != nil {
			return 0, err
		}
	}
	frame := r.seg[r.used:]
	r.used += putFrame(frame, &e)
	return checksumOf(frame), nil
}

// End writes the end mark, which says how many events came before it and what their checksums add up to, and closes the
// recorder. A process calls it when it ends as it was asked to. A record without an end mark may lack its end. If an
// event was refused, End writes no mark and fails.
func (r *Recorder) End() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var err error
	if r.lost {
		err = errors.New("record history: an event was not recorded")
	} else {
		mark := endMark(r.recorded, r.sum)
		mark.At, mark.Process = r.clock.Now(), r.process
		_, err = r.put(mark)
	}
	return errors.Join(err, r.closeSegment())
}

// Close closes the recorder without an end mark. It truncates the last segment to what was written. After
// [Recorder.End] it does nothing.
func (r *Recorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.closeSegment()
}

func (r *Recorder) closeSegment() error {
	if r.seg == nil {
		return nil
	}
	err := syscall.Munmap(r.seg)
	r.seg = nil
	return errors.Join(err, r.file.Truncate(int64(r.used)), r.file.Close())
}

func (r *Recorder) rotate() error {
	n := r.segments.Load()
	name := segmentName(r.dir, n)
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("record history: %w", err)
	}
	if err := reserve(f, n); err != nil {
		return errors.Join(fmt.Errorf("record history: %w", err), f.Close())
	}
	seg, err := syscall.Mmap(int(f.Fd()), 0, segmentSize, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return errors.Join(fmt.Errorf("map history %s: %w", name, err), f.Close())
	}
	// The old segment is cut only after the new one exists: a tailer that finds
	// the end of a segment and a successor knows that nothing more will come.
	if err := r.closeSegment(); err != nil {
		return err
	}
	r.seg, r.file, r.used = seg, f, 0
	r.segments.Add(1)
	return nil
}

// reserve gives a new segment its length. All but the first also get their room on the disk, because a mapped page for
// which there is no room would kill the process without a reason. Most processes never fill their first segment, so it
// takes no room in advance.
func reserve(f *os.File, n int64) error {
	if n > 0 {
		err := syscall.Fallocate(int(f.Fd()), 0, 0, segmentSize)
		if err == nil {
			return nil
		}
		if !errors.Is(err, syscall.EOPNOTSUPP) {
			return fmt.Errorf("reserve %d MiB for %s, whose earlier segments may not have been collected: %w",
				segmentSize>>20, f.Name(), err)
		}
	}
	return f.Truncate(segmentSize)
}

// segmentName returns the name of the n-th segment of a history.
func segmentName(dir string, n int64) string {
	return filepath.Join(dir, fmt.Sprintf("%06d%s", n, SegmentSuffix))
}

// mostUncollected is how many segments of a history may be there before [Recorder.AwaitCollector] waits. It then waits
// until half of them are gone, so that it waits seldom and long rather than often and short.
const mostUncollected = 16

// A backlog is the part of a history that an [Outbox] still has. If nobody collects the history, the backlog is taken
// to be empty.
type backlog struct {
	dir string
	// first is the first segment that was seen to be there.
	first atomic.Int64
	// turn is taken by the one goroutine that waits for the backlog to shrink. The others wait for their turn.
	turn chan struct{}
}

func newBacklog(dir string) backlog { return backlog{dir: dir, turn: make(chan struct{}, 1)} }

// exceeds reports whether more than a number of the segments, of which there are so many in all, are still there.
func (b *backlog) exceeds(most, segments int64) bool {
	first := b.first.Load()
	for segments-first > most {
		if _, err := os.Stat(segmentName(b.dir, first)); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		first++
	}
	b.first.Store(first)
	return first > 0 && segments-first > most
}

// AwaitCollector waits while much of the history has yet to be collected, so that a process that records faster than
// its record can be collected is slowed down before the host's memory is full. It records how long it waited, as an
// event of [OpSlowed]. Callers wait where nothing is measured: before an operation begins, and never between its
// invocation and its return.
//
// It returns at once if nobody collects the history. If ctx ends first, it returns the cause.
func (r *Recorder) AwaitCollector(ctx context.Context) error {
	if r.segments.Load()-r.backlog.first.Load() <= mostUncollected {
		return nil
	}
	select {
	case r.backlog.turn <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-r.backlog.turn }()
	if !r.backlog.exceeds(mostUncollected, r.segments.Load()) {
		return nil
	}
	begun := r.clock.Now()
	poll := time.NewTicker(time.Millisecond)
	defer poll.Stop()
	var err error
	for err == nil && r.backlog.exceeds(mostUncollected/2, r.segments.Load()) {
		select {
		case <-poll.C:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	now := r.clock.Now()
	return errors.Join(err, r.Record(SlowedFor(now, time.Duration(now-begun))))
}
