//go:build !race || patched

package zktest_test

const raceDetector = false
