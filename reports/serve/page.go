package serve

import (
	"bytes"
	"embed"
	"html/template"
	"net/http"
	"net/url"
	"strings"

	"locklab/harness/untrusted"
	"locklab/reports/chart"
)

//go:embed assets
var files embed.FS

var (
	//go:embed assets/serve.css
	style string
	//go:embed assets/live.js
	script string
	//go:embed assets/icon.svg
	icon string
)

// assets are the files that pages refer to.
var assets = map[string]string{"page.css": string(chart.PageStyle), "serve.css": style, "live.js": script,
	"icon.svg": icon}

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"fileURL": fileURL, "plain": untrusted.Line, "patterns": func() template.HTML { return chart.PagePatterns },
	"titleEnd": func() string { return titleEnd }, "flags": chart.Flags,
}).ParseFS(files, "assets/*.tmpl"))

// A frameView is what every page has.
type frameView struct {
	Title string
	Dir   string // the directory, as the user named it
	Here  string // the address of the page among those of the navigation
	Query template.URL
}

// frame returns what every page has. The filter goes along from page to page.
func (s *Server) frame(title, here string, f filter) frameView {
	v := frameView{Title: title, Dir: s.dir, Here: here}
	if q := f.query(); len(q) > 0 {
		v.Query = template.URL("?" + q.Encode())
	}
	return v
}

func show(w http.ResponseWriter, code int, name string, view any) {
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, name, view); err != nil {
		http.Error(w, "the page cannot be written: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write(b.Bytes()) // an error is the client's
}

// A problemView is a page that says what went wrong.
type problemView struct {
	frameView
	Problem string
}

// problem answers with a page that says what went wrong.
func (s *Server) problem(w http.ResponseWriter, code int, title, text string) {
	show(w, code, "problem", problemView{s.frame(title, "", filter{}), text})
}

// fileURL is the address of a file below the directory.
func fileURL(name ...string) string {
	parts := strings.Split(strings.TrimPrefix(strings.Join(name, "/"), "./"), "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return "/files/" + strings.Join(parts, "/")
}

// liveURL is the address of the live view of a run.
func liveURL(run string) string { return "/live?" + url.Values{"run": {run}}.Encode() }
