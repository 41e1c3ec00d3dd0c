package untrusted

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"syscall"

	"locklab/harness/fail"
)

// ErrRefused says that a file was not read, because of what it is or because of its size.
var ErrRefused = fail.Input.New("refused")

// Open opens a regular file of at most that many bytes. Other files are refused before they are opened, since a FIFO or
// a device could keep a reader waiting forever or feed it without end. The error wraps [ErrRefused] or is that of the
// file system.
func Open(name string, most int64) (*os.File, error) { return open(os.Stat, os.OpenFile, name, most) }

// OpenIn is [Open] of a file below a root. No name and no symbolic link leads out of it.
func OpenIn(root *os.Root, name string, most int64) (*os.File, error) {
	return open(root.Stat, root.OpenFile, name, most)
}

func open(stat func(string) (fs.FileInfo, error), openFile func(string, int, fs.FileMode) (*os.File, error),
	name string, most int64) (*os.File, error) {
	info, err := stat(name)
	if err != nil {
		return nil, err
	}
	if err := check(name, info, most); err != nil {
		return nil, err
	}
	// The file may be another by now. Opened without blocking, it is looked at once more.
	f, err := openFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err = f.Stat()
	if err == nil {
		err = check(name, info, most)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Read returns the content of a file that [Open] opens.
func Read(name string, most int64) ([]byte, error) {
	f, err := Open(name, most)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadAll(f, name, most)
}

// ReadAll returns all that a reader has, if it is at most that many bytes. The name is for the error.
func ReadAll(r io.Reader, name string, most int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(b)) > most {
		return nil, tooLarge(name, most)
	}
	return b, err
}

// Digest returns the SHA-256 of a regular file, in hexadecimal digits.
func Digest(name string) (string, error) {
	f, err := Open(name, AnySize)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// check refuses a file that is not a regular one, or that is too large.
func check(name string, info fs.FileInfo, most int64) error {
	if kind := kindOf(info.Mode()); kind != "" {
		return fmt.Errorf("%s is %s and not a regular file: %w", name, kind, ErrRefused)
	}
	if info.Size() > most {
		return tooLarge(name, most)
	}
	return nil
}

func tooLarge(name string, most int64) error {
	return fmt.Errorf("%s has more than %d KiB: %w", name, most>>10, ErrRefused)
}

// kindOf names what a file is; empty for a regular file.
func kindOf(mode fs.FileMode) string {
	switch {
	case mode.IsRegular():
		return ""
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeNamedPipe != 0:
		return "a FIFO"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "a special file"
}

// AnySize lets a file have any size.
const AnySize = math.MaxInt64 - 1

// Document is the most that a file of a directory may have if it is read as a whole: scenarios, results and plans.
// Histories and logs are read piece by piece, and may be of any size.
const Document = 256 << 20

// documents are the endings of the names of such files.
var documents = map[string]bool{".json": true, ".yaml": true, ".txt": true}

// CheckDir refuses a directory with anything but directories, regular files and symbolic links to them in it, at any
// depth, with a name that [Line] would change, or with a document that is too large. A directory that does not exist is
// not an error. The error wraps [ErrRefused] or is that of the file system.
func CheckDir(dir string) error {
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if base := filepath.Base(name); name != dir && base != Line(base) {
			return fmt.Errorf("%s has a name that cannot be shown: %w", Line(name), ErrRefused)
		}
		info, err := os.Stat(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a link to nothing; a command that needs the file reports that
		}
		if err != nil || info.IsDir() {
			return err
		}
		most := int64(AnySize)
		if documents[filepath.Ext(name)] {
			most = Document
		}
		return check(name, info, most)
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
