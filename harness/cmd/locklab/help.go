package main

import (
	"cmp"
	"fmt"
	"io"
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
	"locklab/reports/words"
	"locklab/workloads"
	"locklab/workloads/lock"
)

// A helpGroup is a part of the short help of a command that has the keys of a scenario as flags. Whatever is not shown
// is named, and --help --all explains it.
type helpGroup struct {
	title       string
	shown, more []string // names of flags
}

// helpGroups has every key once. The flags of a command that are in none come before.
var helpGroups = []helpGroup{
	{"Load",
		[]string{"workload", "clients", "arrivals", "rate", "locks", "hold", "think", "duration"},
		[]string{"client-processes", "clients-per-session", "max-in-flight", "queue", "term", "die-share", "section",
			"wait", "try", "lock-choice", "locks-per-acquire", "ordered", "read-share", "downgrade-share", "permits", "units",
			"resize", "placement", "round-trip", "warmup", "iterations", "drain", "seed"}},
	{"Lock",
		[]string{"recipe", "guard", "session-timeout"},
		[]string{"layout", "client-image"}},
	{"Faults",
		[]string{"schedule", "fault-kinds", "victim-alone"},
		[]string{"fault-interval", "fault-length", "victims", "liveness"}},
	{"Ensemble of the lab",
		[]string{"lab", "servers", "zookeeper", "storage"},
		[]string{"tick", "sync-limit", "min-session-timeout", "max-session-timeout", "jvm", "heap", "observer",
			"in-cluster"}},
	{"Ensemble of yours",
		[]string{"connect", "connect-auth"},
		[]string{"connect-ca", "connect-cert", "connect-key", "max-rate", "max-latency", "txnlog-dir", "yes"}},
	{"Limits",
		[]string{"threshold", "min-acquired"}, nil},
	{"Output",
		[]string{"out", "json", "dry-run", "print-config"}, nil},
}

// allHelp reports whether the command line asks for the whole help, and returns it without the word for that, which is
// no flag of its own.
func allHelp(args []string) ([]string, bool) {
	if !slices.Contains(args, "--help") || !slices.Contains(args, "--all") {
		return args, false
	}
	return slices.DeleteFunc(slices.Clone(args), func(a string) bool { return a == "--all" }), true
}

// printHelp prints the help of a command, or of them all, with the exit codes at its end. Unless all of it is wanted,
// that of a command with the keys of a scenario is short.
func printHelp(all bool) kong.HelpPrinter {
	return func(options kong.HelpOptions, c *kong.Context) error {
		codes := exitCodes{codes: everyCode}
		selected := c.Selected()
		if selected != nil {
			var ok bool
			if codes, ok = exitsOf[selected.Path()]; !ok {
				return kong.DefaultHelpPrinter(options, c) // an internal command
			}
		}
		if selected != nil && !all && flagOf(selected, "clients") != nil && flagOf(selected, "recipe") != nil &&
			flagOf(selected, "arrivals") != nil {
			writeShortHelp(c.Stdout, c.Model.Name, selected)
		} else if err := kong.DefaultHelpPrinter(options, c); err != nil {
			return err
		}
		_, err := fmt.Fprintf(c.Stdout, "\n%s", codes)
		return err
	}
}

// flagOf returns a command's flag of that name, or nil.
func flagOf(n *kong.Node, name string) *kong.Flag {
	if i := slices.IndexFunc(n.Flags, func(f *kong.Flag) bool { return f.Name == name }); i >= 0 {
		return n.Flags[i]
	}
	return nil
}

// writeShortHelp writes the help of a command without its exit codes.
func writeShortHelp(w io.Writer, program string, n *kong.Node) {
	fmt.Fprintf(w, "Usage: %s %s\n\n%s\n\n", program, n.Summary(), n.Help)
	for _, p := range n.Positional {
		writeEntry(w, p.Summary(), firstClause(helpWithDefault(p)))
	}
	grouped := map[string]bool{}
	for _, g := range helpGroups {
		for _, name := range slices.Concat(g.shown, g.more) {
			grouped[name] = true
		}
	}
	for _, f := range n.Flags {
		if !grouped[f.Name] && !f.Hidden {
			writeFlag(w, f)
		}
	}
	for _, g := range helpGroups {
		fmt.Fprintf(w, "%s:\n", g.title)
		for _, name := range g.shown {
			if f := flagOf(n, name); f != nil {
				writeFlag(w, f)
			}
		}
		var more []string
		for _, name := range g.more {
			if flagOf(n, name) != nil {
				more = append(more, "--"+name)
			}
		}
		if more != nil {
			writeWrapped(w, "  also ", strings.Join(more, " "))
		}
	}
	fmt.Fprintf(w, "\n%s %s --help --all explains every flag. A flag that is a key of the scenario is also a variable,\n"+
		"such as LOCKLAB_CLIENTS for --clients.\n", program, n.Path())
}

func writeFlag(w io.Writer, f *kong.Flag) {
	if f.Name == "recipe" {
		writeRecipes(w, f)
		return
	}
	name := "--" + f.Name
	if holder := cmp.Or(f.PlaceHolder, f.Default); !f.IsBool() && holder != "" {
		name += "=" + holder
	}
	writeEntry(w, name, firstClause(helpWithDefault(f.Value)))
}

// writeRecipes writes the flag recipe with its values by what they serve.
func writeRecipes(w io.Writer, f *kong.Flag) {
	of, _ := lock.Find("curator-mutex")
	writeEntry(w, "--recipe=NAME", firstClause(f.Help)+"; "+strings.Join(of.Versions(), " or ")+" names a version")
	for _, workload := range workloads.All {
		names := slices.DeleteFunc(lock.Offered(workload), func(name string) bool {
			r, _ := lock.Find(name)
			return r.Workloads[0] != workload
		})
		writeEntry(w, "  "+workload, strings.Join(names, " "))
	}
	broken := len(slices.DeleteFunc(lock.Names(), func(n string) bool { return !lock.IsControl(n) }))
	writeEntry(w, "  broken", fmt.Sprintf("%d locks with one known bug each: %s…, see locklab repro", broken,
		lock.ControlPrefix))
	writeEntry(w, "  yours", lock.ExecPrefix+"FILE, a program that speaks the lock protocol; see locklab init driver")
}

const (
	helpColumn = 28
	helpWidth  = 118
)

// writeEntry writes a name and its help in two columns. A name that is too long for its column moves the help.
func writeEntry(w io.Writer, name, help string) {
	lead := fmt.Sprintf("  %-*s  ", helpColumn-4, name)
	writeWrapped(w, lead, help)
}

// writeWrapped writes words after a lead, and goes on below the first of them.
func writeWrapped(w io.Writer, lead, text string) {
	line, indent := lead, strings.Repeat(" ", min(len(lead), helpColumn))
	for i, word := range strings.Fields(text) {
		if i > 0 && len(line)+1+len(word) > helpWidth {
			fmt.Fprintln(w, strings.TrimRight(line, " "))
			line = indent
		} else if i > 0 {
			line += " "
		}
		line += word
	}
	fmt.Fprintln(w, strings.TrimRight(line, " "))
}

// firstClause shortens a help to its first clause, and keeps its variable and its default, which are at the end.
func firstClause(help string) string {
	text, end := words.Upper(strings.TrimPrefix(strings.TrimSuffix(help, "."), "With connect: ")), ""
	for _, mark := range []string{" (default ", " ($"} {
		if i := strings.LastIndex(text, mark); i >= 0 {
			text, end = text[:i], text[i:]+end
		}
	}
	for _, mark := range []string{"; ", ": ", ". "} {
		text, _, _ = strings.Cut(text, mark)
	}
	return text + end
}

// whichCommand is what locklab says without arguments.
const whichCommand = `locklab measures ZooKeeper locks and tries to break them. Which command answers which question:
  Can two clients hold a lock at once, and what stops the damage?   demo, run mutex-pause, danger
  How many times a second, how long do clients wait, what is best?  run, sweep, plan
  Which session timeout?                                            advise
  Did a change make the lock slower, or worse?                      bench, compare, init gate
  Who holds my lock right now, who waits, is it stuck?              inspect HOST:PORT/PATH
  Is a lock of my own any good?                                     init driver, driver check, run --recipe exec:FILE
  What did an old run show?                                         check, report, export, serve
  Would locklab notice a broken lock?                               repro
doctor says what this machine can do. Everything else is in locklab --help and locklab COMMAND --help.
`

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
