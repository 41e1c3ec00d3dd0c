package incluster

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
)

// unpack writes the files and directories of a tar archive below a new directory. [os.Root] refuses names that would
// leave it.
func unpack(from io.Reader, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for archive := tar.NewReader(from); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch h.Typeflag {
		case tar.TypeDir:
			err = root.MkdirAll(h.Name, 0o755)
		case tar.TypeReg:
			err = writeFile(root, h.Name, archive)
		default:
			err = fmt.Errorf("%s is neither a file nor a directory", h.Name)
		}
		if err != nil {
			return err
		}
	}
}

func writeFile(root *os.Root, name string, content io.Reader) error {
	f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Close())
}
