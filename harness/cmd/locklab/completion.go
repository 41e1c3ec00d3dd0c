package main

import (
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	kongcompletion "github.com/jotaen/kong-completion"
	"github.com/posener/complete"

	"locklab/harness/scenario"
	"locklab/reports/export"
	"locklab/reports/result"
	"locklab/reports/runpage"
	"locklab/workloads"
)

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"The shell: bash, zsh or fish."`
}

// Help says what to do with the output.
func (completionCmd) Help() string {
	return "Add one of these lines to the shell's start file:\n\n" +
		"    source <(locklab completion bash)      # ~/.bashrc\n" +
		"    source <(locklab completion zsh)       # ~/.zshrc\n" +
		"    locklab completion fish | source       # ~/.config/fish/config.fish\n"
}

func (completionCmd) exits() string { return exitCodes("the code was printed") }

// Run prints code by which the shell asks this binary for completions.
func (c completionCmd) Run(k *kong.Context) error {
	return (&kongcompletion.Completion{Shell: c.Shell, Code: true}).Run(k)
}

// lineVariable is how a shell hands over a line that is to be completed.
const lineVariable = "COMP_LINE"

// completeLine prints the completions of a line if a shell asks for them, and ends the process then.
func completeLine(parser *kong.Kong) {
	if os.Getenv(lineVariable) == "" {
		return
	}
	kongcompletion.Register(parser, kongcompletion.WithPredictors(predictors()))
}

// Names of predictors, as in the tags of arguments and flags. [keyPredictor] names the predictor of a key's values.
const (
	predictScenario = "scenario" // name of a built-in scenario, or a YAML file
	predictBuiltin  = "builtin"
	predictBug      = "bug" // name of a known bug
	predictDir      = "dir"
	predictFile     = "file"
	predictMetric   = "metric" // a number that comparisons go by
	predictLimit    = "limit"  // the number at the beginning of a threshold
	predictKey      = "key"    // name of a key of the scenario
	predictPicture  = "picture"
	predictExport   = "export" // format of an export
)

// keyPredictor names the predictor of a key's values.
func keyPredictor(key string) string { return predictKey + ":" + key }

func predictors() map[string]complete.Predictor {
	builtin := complete.PredictFunc(func(complete.Args) []string {
		names, err := scenario.Names(workloads.Builtin)
		if err != nil {
			return nil // a completion has no place for errors
		}
		return names
	})
	all := map[string]complete.Predictor{
		predictBuiltin:  builtin,
		predictScenario: complete.PredictOr(builtin, complete.PredictFiles("*.yaml")),
		predictDir:      complete.PredictDirs("*"),
		predictFile:     complete.PredictFiles("*"),
	}
	all[predictExport] = complete.PredictSet(export.Names()...)
	all[predictPicture] = complete.PredictSet(runpage.Pictures...)
	all[predictBug] = complete.PredictSet(bugNames()...)
	all[predictMetric] = complete.PredictSet(namesOf(result.Compared())...)
	all[predictLimit] = complete.PredictSet(namesOf(result.Quantities())...)
	var names []string
	for _, k := range scenario.Keys() {
		names = append(names, k.Name+"=")
		all[keyPredictor(k.Name)] = complete.PredictSet(completable(k.Values)...)
	}
	all[predictKey] = complete.PredictSet(names...)
	return all
}

// namesOf lists the names of quantities, and their paths in result.json.
func namesOf(all []result.Quantity) []string {
	var names []string
	for _, q := range all {
		names = append(names, q.Name(), q.Path)
	}
	return names
}

// completable leaves out what only shows the form of a value, such as exec:CMD.
func completable(values []string) []string {
	return slices.DeleteFunc(slices.Clone(values), func(v string) bool { return strings.Contains(v, ":") })
}
