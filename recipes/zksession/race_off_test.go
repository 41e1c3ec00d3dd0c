//go:build !race || patched

package zksession

const raceDetector = false
