package txnlog

import (
	"bytes"
	"io"
)

// Trim copies a log without the zeros at its end, and returns how many bytes it wrote. A server writes 4 MiB of zeros
// or more ahead of its records. A [Reader] finds in the copy exactly what it finds in the original, because records
// do not end in zeros, and because Trim keeps the whole header, which may.
func Trim(dst io.Writer, src io.Reader) (int64, error) {
	n, err := io.CopyN(dst, src, fileHeaderSize)
	if err == io.EOF {
		return n, nil
	}
	if err != nil {
		return n, err
	}
	// Zeros are held back until something follows them.
	var held int64
	buf := make([]byte, 64<<10)
	for {
		got, readErr := src.Read(buf)
		if kept := bytes.TrimRight(buf[:got], "\x00"); len(kept) > 0 {
			for _, r := range []io.Reader{io.LimitReader(zeros{}, held), bytes.NewReader(kept)} {
				w, err := io.Copy(dst, r)
				n += w
				if err != nil {
					return n, err
				}
			}
			held = int64(got - len(kept))
		} else {
			held += int64(got)
		}
		if readErr == io.EOF {
			return n, nil
		}
		if readErr != nil {
			return n, readErr
		}
	}
}

// zeros is a reader of endless zeros.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}
