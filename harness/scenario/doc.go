// Package scenario is what a run is asked to do: one flat YAML file that says
// which clients want which locks on which ensemble, what breaks meanwhile, and
// what the checks are expected to find.
//
// In flow a file (or one of the built-in ones), environment variables and
// flags; all three spell a key the same way and override each other in that
// order, flags last. Out flows a [Scenario] that has been checked against
// itself: what it asks for can be done, or an [InputError] says where it was
// asked for and what to write instead. Nothing is started before that.
//
//  1. [Load] or [Builtin] reads a file over [Defaults], strictly.
//  2. [Scenario.ApplyEnv] and [Scenario.Set] override single keys.
//  3. [Scenario.Validate] refuses the impossible; [Scenario.Warnings] says what
//     will not be quite as asked.
//  4. [Scenario.CheckMetrics] refuses thresholds on numbers that no result has:
//     which there are, the caller knows.
//  5. [Scenario.Marshal] writes what came of it, as a file that Load accepts;
//     [Scenario.Explain] says beside each value where it came from.
//
// [Schema] describes the files for editors, from the same table of keys.
//
// Every value remembers where it came from, so that a contradiction between a
// file and a flag is reported at the flag.
package scenario
