package console

import (
	"encoding/json"
	"io"
)

// Streams are where a command writes, results to Out and everything else to Err, and what it reads.
type Streams struct {
	Out, Err io.Writer
	In       io.Reader
}

// PrintJSON prints a value as indented JSON.
func PrintJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
