//go:build race && !patched

package recipes

const raceDetector = true
