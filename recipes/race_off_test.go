//go:build !race

package recipes

const raceDetector = false
