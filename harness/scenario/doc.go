// Package scenario describes what a run should do. A scenario is one flat YAML file that says which clients want which
// locks on which ensemble, what breaks meanwhile, and what the checks are expected to find.
//
// In flow: a file or a built-in scenario, environment variables and flags, which all spell a key the same way.
// Variables override the file, and flags override both. Out flow: a [Scenario] that can be carried out, or an
// [InputError] with the place of the mistake, what is wrong and what to write instead. Nothing is started before that.
//
//  1. [Load] or [Builtin] reads a file over [Defaults], strictly.
//  2. [Scenario.ApplyEnv] and [Scenario.Set] override single keys.
//  3. [Scenario.Validate] refuses what is impossible; [Scenario.Warnings] says what will differ from what was asked.
//  4. [Scenario.CheckMetrics] refuses thresholds on numbers that no result has. The caller knows which numbers there
//     are.
//  5. [Scenario.Marshal] writes the outcome as a file that Load accepts; [Scenario.Explain] adds to each value where it
//     came from.
//
// Each key is a field of [Scenario] with tags of package settings. Files, flags, variables and the [Schema] for editors
// are all derived from these tags. To add a key, add a field with its tags and a line to help.txt. A key whose
// value maps names to outcomes or numbers is a line of the table blocks.
//
// Every value remembers where it came from, so that a contradiction between a file and a flag is reported at the flag.
package scenario
