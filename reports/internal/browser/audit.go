package browser

import (
	_ "embed"
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"
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

// Legible shows a page in each colour scheme, at the width of a desk's screen and of a phone's, with nothing folded. It
// fails the test if the page is wider than its screen, if its audit finds something, if it has the same background in
// both colour schemes, or if the texts of its pictures run together in some font.
func Legible(t *testing.T, b *Tab, url string) {
	t.Helper()
	backgrounds := map[string]bool{}
	for _, scheme := range []string{"dark", "light"} {
		b.Show(t, url, phone, scheme)
		Eval[bool](t, b, `document.querySelectorAll("details").forEach(d => d.open = true), true`)
		for _, width := range []int64{phone, desk} {
			b.Do(t, chromedp.EmulateViewport(width, 900))
			if wide := Eval[int64](t, b, "document.documentElement.scrollWidth"); wide > width {
				t.Errorf("%s, %s: %d px wide at %d px", url, scheme, wide, width)
			}
			if diff := cmp.Diff([]string{}, Audit(t, b)); diff != "" {
				t.Errorf("audit of %s, %s, %d px (-want +got):\n%s", url, scheme, width, diff)
			}
		}
		backgrounds[Eval[string](t, b, "getComputedStyle(document.body).backgroundColor")] = true
	}
	if len(backgrounds) != 2 {
		t.Errorf("backgrounds %v, want one for each colour scheme", backgrounds)
	}
	for _, font := range []string{"", "monospace", "serif"} {
		Eval[bool](t, b, fmt.Sprintf(
			`document.querySelectorAll(".plot text").forEach(e => e.style.fontFamily = %q), true`, font))
		if diff := cmp.Diff([]string{}, Collisions(t, b)); diff != "" {
			t.Errorf("texts of %s run together in font %q (-want +got):\n%s", url, font, diff)
		}
	}
}

// The widths of screens, in CSS pixels.
const (
	desk  = 1100
	phone = 400
)

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
