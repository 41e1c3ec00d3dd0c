// Package harness is the engine: it turns a scenario into a run directory.
//
// In flow: a [scenario.Scenario] and a place to write. A [Stage] is the lab and
// ensemble that the scenario asks for; [Stage.Run] lets clients work on it while
// faults strike, and collects what every process recorded. Out flow: the run
// directory, which [Check] and [Report] then read, at once or years later,
// without a lab.
package harness
