package chart

import (
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"

	"locklab/harness/rundir"
)

//go:embed page.css
var pageStyle string

// PageStyle is the style sheet of every page.
var PageStyle = template.CSS(pageStyle)

// A PagePicture is a picture that is part of a page.
type PagePicture struct {
	Name, Caption string
	URL           template.URL
}

// OnPage returns the picture as part of a page. Pages carry pixels rather than vectors: the text of an SVG is set in
// whatever font the reader has, and where that is wider than ours, labels run into each other.
func (p Picture) OnPage() PagePicture {
	url := template.URL("data:image/png;base64," + base64.StdEncoding.EncodeToString(p.PNG))
	return PagePicture{Name: p.Name, Caption: p.Caption, URL: url}
}

// Save writes the pictures of a report into a run directory or a sweep's, as PNG and SVG. Each file is replaced
// completely or not at all. A picture that was not drawn is left out, and an older file of its name is removed.
func Save(dir string, pictures []Picture) error {
	for _, p := range pictures {
		for ext, b := range map[string][]byte{".png": p.PNG, ".svg": p.SVG} {
			if p.PNG == nil {
				b = nil
			}
			if err := rundir.WritePicture(dir, p.Name+ext, b); err != nil {
				return fmt.Errorf("save pictures: %w", err)
			}
		}
	}
	return nil
}
