package gate

import "strings"

// quoted writes a text as a quoted scalar of YAML, in which only the quote itself has a meaning.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
