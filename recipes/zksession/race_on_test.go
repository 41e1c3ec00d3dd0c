//go:build race

package zksession

const raceDetector = true
