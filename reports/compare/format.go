package compare

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// formats are the formats of a report, by name.
var formats = map[string]func(*bytes.Buffer, Report) error{
	"text": writeText, "markdown": writeMarkdown, "json": writeJSON, "junit": writeJUnit, "github": writeGitHub,
}

// formatNames lists the names of the formats.
func formatNames() []string { return slices.Sorted(maps.Keys(formats)) }

// Render writes a report: as text for a person, as Markdown for a pull request, as JSON for scripts, as the XML of
// JUnit for tools that collect tests, or as the workflow commands by which GitHub annotates a run. An unknown format
// is an error that wraps [ErrInput].
func Render(format string, r Report) ([]byte, error) {
	if err := CheckFormat(format); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := formats[format](&b, r); err != nil {
		return nil, fmt.Errorf("write %s: %w", format, err)
	}
	return b.Bytes(), nil
}

func writeJSON(w *bytes.Buffer, r Report) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(r)
}

// CheckFormat refuses an unknown format. The error wraps [ErrInput].
func CheckFormat(format string) error {
	if _, ok := formats[format]; !ok {
		return fmt.Errorf("%w: no format %q; there are %s", ErrInput, format, strings.Join(formatNames(), ", "))
	}
	return nil
}
