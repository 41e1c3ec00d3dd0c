package scenario

import (
	"slices"
	"strings"

	"locklab/chaos"
	"locklab/workloads/guard"
	"locklab/workloads/lock"
)

// Recipes returns the scenario's recipes. They are dealt to the client processes, c1 first. Unknown names are left out.
func (s *Scenario) Recipes() []lock.Recipe {
	if s.Command() != nil {
		return []lock.Recipe{lock.Command(s.Recipe, s.Layout)}
	}
	return lock.FindAll(s.Recipe)
}

// RecipeOf returns the recipe of the i-th client process, from 0.
func (s *Scenario) RecipeOf(i int) lock.Recipe {
	all := s.Recipes()
	return all[i%len(all)]
}

// Mix returns what the scenario's recipes promise and need together: only what each promises, and all that any needs.
func (s *Scenario) Mix() lock.Recipe {
	return lock.Mix(s.Recipe, s.Recipes(), lock.Use{Downgrades: s.DowngradeShare > 0, DeletesNodes: s.deletesNodes()})
}

// deletesNodes reports whether the scenario names a fault that deletes contenders' znodes.
func (s *Scenario) deletesNodes() bool {
	return slices.ContainsFunc(s.Faults, func(f chaos.Fault) bool {
		n := chaos.KindOf(f.Kind).Nature
		return n.DeletesZnodes && !n.DeletesAll
	})
}

// HasTokens reports whether the recipes give out fencing tokens. A recipe that may give them counts as one that does.
func (s *Scenario) HasTokens() bool { return s.Mix().Tokens }

// Command returns the command and arguments of a recipe that is a command, and nil for every other recipe.
func (s *Scenario) Command() []string {
	command, ok := strings.CutPrefix(s.Recipe, lock.ExecPrefix)
	if !ok {
		return nil
	}
	return strings.Fields(command)
}

// Foreign reports whether a recipe runs in a process of its own beside the client's.
func (s *Scenario) Foreign() bool { return s.Mix().Foreign }

// Protection returns the table entry of the scenario's guard.
func (s *Scenario) Protection() guard.Guard {
	g, _ := guard.Find(s.Guard)
	return g
}
