package serve

import (
	"archive/tar"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"locklab/ensembles/agent"
	"locklab/harness/history"
)

// serveFile sends a file below the root, from an offset on. os.Root refuses paths that leave it.
func (a *server) serveFile(w http.ResponseWriter, r *http.Request) {
	f, err := openBelow(a.cfg.Root, r.FormValue("path"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	defer f.Close()
	offset, err := strconv.ParseInt(r.FormValue("offset"), 10, 64)
	if err == nil {
		_, err = f.Seek(offset, io.SeekStart)
	}
	if err != nil {
		http.Error(w, "bad offset", http.StatusBadRequest)
		return
	}
	if _, err := io.Copy(w, f); err != nil {
		abort() // part of a file must not look like a whole one
	}
}

// serveTree sends a directory below the root with all that is in it, as a tar archive.
func (a *server) serveTree(w http.ResponseWriter, r *http.Request) {
	dir, err := openDirBelow(a.cfg.Root, r.FormValue("dir"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	defer dir.Close()
	archive := tar.NewWriter(w)
	if err := errors.Join(archive.AddFS(dir.FS()), archive.Close()); err != nil {
		abort()
	}
}

func openDirBelow(root, dir string) (*os.Root, error) {
	top, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer top.Close()
	return top.OpenRoot(dir)
}

// putFile writes a file of the host. A file that did not arrive whole is removed. On a host that is a mere process of
// this machine, files are the machine's and are not touched.
func (a *server) putFile(w http.ResponseWriter, r *http.Request) {
	path := r.FormValue("path")
	if a.cfg.Surroundings != nil || !filepath.IsAbs(path) {
		http.Error(w, path+": not a file that can be written here", http.StatusForbidden)
		return
	}
	mode := os.FileMode(0o644)
	if r.FormValue("executable") == "true" {
		mode = 0o755
	}
	if err := writeWhole(path, mode, r.Body); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

func writeWhole(path string, mode os.FileMode, content io.Reader) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	if err = errors.Join(err, f.Close()); err != nil {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

// serveNames sends the names of the regular files in a directory below the root.
func (a *server) serveNames(w http.ResponseWriter, r *http.Request) {
	names := []string{}
	root, err := os.OpenRoot(a.cfg.Root)
	if err == nil {
		defer root.Close()
		var entries []fs.DirEntry
		entries, err = fs.ReadDir(root.FS(), r.FormValue("dir"))
		for _, e := range entries {
			if e.Type().IsRegular() {
				names = append(names, e.Name())
			}
		}
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(names) // the client sees the connection break
}

// openBelow opens a regular file below a directory. Other files might have no end.
func openBelow(dir, path string) (*os.File, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		f.Close()
		return nil, fmt.Errorf("%s: not a regular file", path)
	}
	return f, nil
}

// abort breaks the connection, so that the client knows that the answer is incomplete.
func abort() { panic(http.ErrAbortHandler) }

// serveHistory sends a history's frames from an offset on, up to the end of a segment or of what has been written. With
// follow=true an answer without any frames means that the process that writes the history has ended and all of it has
// been sent. With collect=true everything before the offset has arrived and is removed.
func (a *server) serveHistory(w http.ResponseWriter, r *http.Request) {
	offset, err := strconv.ParseInt(r.FormValue("offset"), 10, 64)
	if err != nil || offset < 0 {
		http.Error(w, "bad offset", http.StatusBadRequest)
		return
	}
	every, err := time.ParseDuration(r.FormValue("every"))
	if err != nil {
		http.Error(w, "bad duration", http.StatusBadRequest)
		return
	}
	name := r.FormValue("dir")
	if !filepath.IsLocal(name) {
		http.Error(w, "bad directory", http.StatusBadRequest)
		return
	}
	dir := filepath.Join(a.cfg.Root, name)
	own := dir == filepath.Join(a.cfg.Root, agent.HistoryDir)
	outbox := a.outbox(dir)
	if r.FormValue("collect") == "true" {
		if err := outbox.Collected(offset); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
	}
	t, skip, err := outbox.Tail(offset)
	if err != nil {
		http.Error(w, err.Error(), http.StatusGone)
		return
	}
	defer t.Close()
	follow := r.FormValue("follow") == "true"
	flush := http.NewResponseController(w)
	// The agent knows when its own history grows. It must poll that of another process.
	var poll <-chan time.Time
	if !own {
		ticker := time.NewTicker(cmp.Or(max(every, 0), 10*time.Millisecond))
		defer ticker.Stop()
		poll = ticker.C
	}
	const none = -1
	for sent := int64(none); ; { // the segment that the answer is from
		var grown <-chan struct{}
		if own {
			grown = a.rec.Grown()
		}
		// The state is read before the history, so that the history of an ended process is complete when it is read.
		st, _ := a.sup.state()
		ended := !own && st.State == history.ProcessExited
		for {
			b, err := t.Next()
			if err != nil {
				a.cfg.Log.Error("read history", "dir", dir, "err", err)
				abort()
			}
			if len(b) == 0 {
				break
			}
			if sent != none && t.Segment() != sent {
				return // the next request says that this segment has arrived
			}
			cut := min(skip, int64(len(b)))
			skip -= cut
			if _, err := w.Write(b[cut:]); err != nil {
				return
			}
			if cut < int64(len(b)) {
				sent = t.Segment()
			}
		}
		if err := flush.Flush(); err != nil || !follow || ended {
			return
		}
		select {
		case <-grown:
		case <-poll:
		case <-r.Context().Done():
			abort() // the agent ends, or the client has gone
		}
	}
}

func (a *server) outbox(dir string) *history.Outbox {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.outboxes[dir] == nil {
		a.outboxes[dir] = history.NewOutbox(dir)
	}
	return a.outboxes[dir]
}

func historySize(dir string) int64 {
	t := history.NewTailer(dir)
	defer t.Close()
	var n int64
	for {
		b, err := t.Next()
		if err != nil || len(b) == 0 {
			return n
		}
		n += int64(len(b))
	}
}
