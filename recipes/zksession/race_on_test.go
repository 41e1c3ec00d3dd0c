//go:build race && !patched

package zksession

const raceDetector = true
