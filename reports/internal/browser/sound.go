package browser

import "testing"

// Hostile is a name that marks the page as struck if any part of it has an effect.
const Hostile = `"><img src=x onerror=window.struck=1><script>window.struck=1</script>`

// Sound fails the test unless a page without scripts and images is [Legible], the keyboard reaches all of it, all of it
// is printed, and no [Hostile] name has an effect.
func Sound(t *testing.T, b *Tab, url string) {
	t.Helper()
	Legible(t, b, url)
	b.Tabbed(t)
	if Eval[bool](t, b, `window.struck !== undefined || document.querySelector("img, script") !== null`) {
		t.Error("a name had an effect")
	}
	b.Show(t, url, 718, "dark")
	b.Print(t, "dark")
	if wrong := Unprinted(t, b); len(wrong) > 0 {
		t.Errorf("not on paper: %q", wrong)
	}
}
