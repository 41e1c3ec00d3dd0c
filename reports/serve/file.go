package serve

import (
	"errors"
	"io/fs"
	"mime"
	"net/http"
	"path"

	"locklab/harness/untrusted"
)

// sandbox is the content security policy of files. A report is a page with a script, and may be somebody else's. It is
// shown as if it were of an origin of its own: it can read nothing of this server, and can send nothing anywhere.
const sandbox = "sandbox allow-scripts; default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; " +
	"img-src 'self' data:; frame-ancestors 'none'"

// fileTypes are the types of files that a browser shows. Others are shown as text.
var fileTypes = map[string]string{".html": "text/html; charset=utf-8", ".svg": "image/svg+xml", ".png": "image/png",
	".json": "application/json"}

// file answers with a file below the directory.
func (s *Server) file(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	if !fs.ValidPath(name) {
		http.Error(w, "there is no such file", http.StatusNotFound)
		return
	}
	f, err := untrusted.OpenIn(s.root, name, untrusted.AnySize)
	switch {
	case errors.Is(err, untrusted.ErrRefused):
		http.Error(w, "this is not a regular file", http.StatusForbidden)
		return
	case err != nil: // it does not exist, or a link leads out of the directory
		http.Error(w, "there is no such file", http.StatusNotFound)
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		http.Error(w, "the file cannot be read", http.StatusInternalServerError)
		return
	}
	kind, known := fileTypes[path.Ext(name)]
	if !known {
		kind = "text/plain; charset=utf-8"
	}
	h := w.Header()
	h.Set("Content-Security-Policy", sandbox)
	h.Set("Content-Type", kind)
	h.Set("Cache-Control", "no-cache")
	http.ServeContent(w, r, "", info.ModTime(), f)
}

// asset answers with a part of our own pages.
func asset(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	content, known := assets[name]
	if !known {
		http.Error(w, "there is no such file", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
	w.Header().Set("Cross-Origin-Resource-Policy", "same-origin")
	_, _ = w.Write([]byte(content)) // an error is the client's
}
