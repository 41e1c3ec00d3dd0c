package browser

import (
	_ "embed"
	"testing"
)

var (
	//go:embed audit.js
	auditScript string
	//go:embed collisions.js
	collisionsScript string
	//go:embed unprinted.js
	unprintedScript string
)

// Audit returns what is wrong with the page for a reader with a screen reader, a keyboard or weak eyes.
func Audit(t *testing.T, b *Tab) []string {
	t.Helper()
	return Eval[[]string](t, b, auditScript)
}

// Collisions returns which texts of the page's pictures run into each other.
func Collisions(t *testing.T, b *Tab) []string {
	t.Helper()
	return Eval[[]string](t, b, collisionsScript)
}

// Unprinted returns which parts of a page that is laid out for print are hidden or cut.
func Unprinted(t *testing.T, b *Tab) []string {
	t.Helper()
	return Eval[[]string](t, b, unprintedScript)
}
