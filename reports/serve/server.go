package serve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"time"

	"locklab/harness/rundir"
)

// Config says what is served to whom.
type Config struct {
	// Dir is the directory with the runs.
	Dir string
	// Names are further names by which browsers may know this server, with a port or without; see [Guard].
	Names []string

	_ struct{}
}

// A Server answers requests about the runs below a directory.
type Server struct {
	root   *os.Root
	dir    string // as the user named it
	index  index
	live   frames
	handle http.Handler
}

// New returns a server. A directory that cannot be opened is an error that wraps [rundir.ErrNoRun].
func New(c Config) (*Server, error) {
	root, err := os.OpenRoot(c.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s does not exist; name the directory that has the runs: locklab serve DIR",
			rundir.ErrNoRun, c.Dir)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", rundir.ErrNoRun, err)
	}
	s := &Server{root: root, dir: c.Dir}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.list)
	mux.HandleFunc("GET /compare", s.compare)
	mux.HandleFunc("GET /live", s.watch)
	mux.HandleFunc("GET /live/events", s.events)
	mux.HandleFunc("GET /files/{name...}", s.file)
	mux.HandleFunc("GET /assets/{name}", asset)
	s.handle = guard{c.Names, mux}
	return s, nil
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handle.ServeHTTP(w, r) }

// Serve answers requests until ctx ends, and then until those that were being answered have been, or a second is over.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	h := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 64 << 10, BaseContext: func(net.Listener) context.Context { return ctx }}
	ended := make(chan error, 1)
	go func() {
		<-ctx.Done()
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if h.Shutdown(last) != nil {
			ended <- h.Close()
			return
		}
		ended <- nil
	}()
	if err := h.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return <-ended
}

// Close closes the directory.
func (s *Server) Close() error { return s.root.Close() }
