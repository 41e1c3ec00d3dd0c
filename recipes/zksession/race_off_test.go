//go:build !race

package zksession

const raceDetector = false
