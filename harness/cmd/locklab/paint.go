package main

import (
	"io"
	"os"

	"golang.org/x/term"

	"locklab/reports/result"
)

// colours are the SGR codes of outcomes on a terminal.
var colours = map[result.Outcome]string{
	result.AsExpected:      "32",       // green
	result.DamageShown:     "38;5;214", // amber
	result.Violation:       "31",       // red
	result.ThresholdMissed: "31",
}

// paint colours text by an outcome if w is a terminal that is to show colours.
func paint(w io.Writer, o result.Outcome, text string) string {
	if !isTerminal(w) || os.Getenv("NO_COLOR") != "" {
		return text
	}
	return painted(o, text)
}

// painted colours text by an outcome, where the outcome has a colour.
func painted(o result.Outcome, text string) string {
	code, ok := colours[o]
	if !ok {
		return text
	}
	return "\x1b[1;" + code + "m" + text + "\x1b[0m"
}

// isTerminal reports whether w is a terminal that understands control sequences.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}
