package chart

import (
	_ "embed"
	"fmt"
	"html/template"

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
