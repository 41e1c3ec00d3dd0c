// Package run carries out one scenario in a lab and leaves the raw files of a run directory.
//
// In flow: a scenario. A [Stage] is the lab and ensemble that the scenario asks for; [Stage.Run] lets clients work on
// it while faults are injected. Out flow: a run directory with everything that every process recorded, which package
// judge reads without a lab.
package run
