package chart

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"runtime"

	"golang.org/x/sync/errgroup"

	"locklab/harness/rundir"
)

//go:embed page.css
var pageStyle string

// PageStyle is the style sheet of every page.
var PageStyle = template.CSS(pageStyle)

// PagePatterns has the patterns that pictures of a page refer to; each page has it once.
const PagePatterns = template.HTML(`<svg class="defs" aria-hidden="true" width="0" height="0"><defs>` +
	`<pattern id="hatch" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">` +
	`<path class="s ink" d="M0 0V5" stroke-width="1"/></pattern></defs></svg>`)

// Render draws figures, several at a time.
func Render(figures []Figure) ([]Picture, error) {
	all := make([]Picture, len(figures))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, f := range figures {
		g.Go(func() (err error) {
			all[i], err = f.Render()
			return err
		})
	}
	return all, g.Wait()
}

// WriteReport writes a report into a run directory or a sweep's: its pictures, and then report.html, which is page with
// view. Each file is replaced completely or not at all.
func WriteReport(dir string, pictures []Picture, page *template.Template, view any) error {
	var html bytes.Buffer
	if err := page.Execute(&html, view); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	if err := Save(dir, pictures); err != nil {
		return err
	}
	return rundir.WriteReport(dir, html.Bytes())
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
