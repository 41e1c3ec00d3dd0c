package history

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// written records events and returns the bytes of the one segment.
func written(t testing.TB, events ...Event) []byte {
	t.Helper()
	dir := t.TempDir()
	rec, err := NewRecorder(dir, "c1", NewClock())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if err := rec.Record(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "000000"+SegmentSuffix))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func numbered(n int) []Event {
	var events []Event
	for i := range n {
		events = append(
			events,
			Event{
				At:      int64(i + 1),
				Process: "c1",
				Op:      OpAcquire,
				Client:  "c1/0",
				Acq:     int64(i + 1),
				Detail:  strings.Repeat("d", i),
			},
		)
	}
	return events
}

// Whatever happens to the end of a history, the frames before it are read, and no others.
func TestTornTail(t *testing.T) {
	events := numbered(20)
	whole := written(t, events...)
	rapid.Check(t, func(t *rapid.T) {
		cut := rapid.IntRange(0, len(whole)).Draw(t, "cut")
		tail := rapid.OneOf(rapid.Just([]byte(nil)), rapid.Just(make([]byte, 4096)), rapid.SliceOfN(rapid.Byte(), 0, 200)).
			Draw(t, "tail")
		got, rest, _ := Decode(nil, append(whole[:cut:cut], tail...), map[string]string{})
		intact := 0
		for b := whole[:cut]; ; intact++ {
			size, err := frameSize(b)
			if err != nil || size <= 0 {
				break
			}
			b = b[size:]
		}
		if len(got) < intact {
			t.Fatalf("%d events read of %d that are whole", len(got), intact)
		}
		if d := cmp.Diff(events[:intact], got[:intact], cmpopts.EquateEmpty()); d != "" {
			t.Fatal(d)
		}
		if len(rest) > cut+len(tail) {
			t.Fatal("more rest than input")
		}
	})
}

// One flipped bit is noticed: what is read is a prefix of what was written.
func TestFlippedBit(t *testing.T) {
	events := numbered(10)
	whole := written(t, events...)
	for i := range whole {
		b := append([]byte(nil), whole...)
		b[i] ^= 1 << (i % 8)
		got, _, _ := Decode(nil, b, map[string]string{})
		if len(got) > len(events) || !cmp.Equal(got, events[:len(got):len(got)], cmpopts.EquateEmpty()) {
			t.Fatalf("byte %d flipped: read %v", i, got)
		}
	}
}

// tears says which records are torn.
func tears(records []Record) (all []string) {
	for _, r := range records {
		if tear := r.Tear(); tear != "" {
			all = append(all, tear)
		}
	}
	return all
}

// Torn files are read up to the damage, with a warning that names them. Zeros are the unused end of a mapped file and
// cause no warning.
func TestReadRawTorn(t *testing.T) {
	begin := Event{At: 1000, Process: "harness", Op: OpBegin, Value: 1000}
	one := Event{At: 1500, Process: "c1", Op: OpReady}
	garbage := append(written(t, one), 0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4)
	half := written(t, one, one)
	half = half[:len(half)-8]
	for _, c := range []struct {
		name     string
		file     []byte
		warnings int
	}{
		{"whole", written(t, one), 0}, {"zeros", append(written(t, one), make([]byte, 4096)...), 0},
		{"garbage", garbage, 1}, {"half", half, 1}, {"empty", nil, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.MkdirAll(filepath.Join(dir, "c1"), 0o755); err != nil {
				t.Fatal(err)
			}
			for name, b := range map[string][]byte{"harness" + SegmentSuffix: written(t, begin),
				filepath.Join("c1", "process"+SegmentSuffix): c.file,
				"process.log": []byte("no history")} {
				if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			log, records, err := ReadRaw(dir, nil)
			if err != nil {
				t.Fatal(err)
			}
			events := log.Events()
			warnings := tears(records)
			if len(warnings) != c.warnings ||
				c.warnings > 0 && !strings.Contains(warnings[0], filepath.Join("c1", "process"+SegmentSuffix)) {
				t.Errorf("warnings %q", warnings)
			}
			if events[0].Op != OpBegin || events[0].At != 0 {
				t.Errorf("first event is %v", events[0])
			}
			if want := 1 + min(1, len(c.file)); len(events) != want {
				t.Errorf("%d events, want %d", len(events), want)
			} else if want == 2 && events[1].At != 500 {
				t.Errorf("event is at %d, not shifted to the base", events[1].At)
			}
		})
	}
	t.Run("no beginning", func(t *testing.T) {
		if _, _, err := ReadRaw(t.TempDir(), nil); !errors.Is(err, ErrNoBeginning) {
			t.Errorf("got %v", err)
		}
	})
}

// A tailer of a directory that does not exist yet waits for it. A tailer that meets a torn frame at the end of a
// segment continues with the next segment.
func TestTailerGoesOn(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "later")
	tail := NewTailer(dir)
	defer tail.Close()
	if got := drain(t, tail); len(got) != 0 {
		t.Errorf("read %v of nothing", got)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for i, b := range [][]byte{append(written(t, numbered(3)...), 9, 0, 0, 0, 1, 1, 1, 1), written(t, numbered(2)...)} {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%06d%s", i, SegmentSuffix)), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got := drain(t, tail); len(got) != 5 {
		t.Errorf("read %d events, want 5", len(got))
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(written(f, numbered(3)...))
	f.Add([]byte{1, 0, 0, 0, 0, 0, 0, 0})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		events, rest, err := Decode(nil, b, map[string]string{})
		if len(rest) > len(b) || err != nil && !errors.Is(err, ErrTorn) {
			t.Errorf("%d events, %d of %d bytes left, %v", len(events), len(rest), len(b), err)
		}
		// A checksum is seldom right by chance, so the decoder behind it is called directly: it must not panic either.
		if len(b) > frameHeader {
			body := append([]byte(nil), b...)
			n := len(body) - frameHeader
			body[0], body[1], body[2], body[3] = byte(n), byte(n>>8), byte(n>>16), byte(n>>24)
			if e := (entry{}); newDecoder(nil).decode(&e, body, 0) == nil {
				new(Log).add(&e, 0)
			}
		}
	})
}
