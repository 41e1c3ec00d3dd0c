package scenario

import "slices"

// The readers whose questions scenarios answer.
const (
	AnswersPlanner  = "planner"  // plans capacity
	AnswersCI       = "ci"       // owns a build that must not get slower
	AnswersDesigner = "designer" // designs a service that relies on a lock
)

var readers = []string{AnswersPlanner, AnswersCI, AnswersDesigner}

var questions = map[string]string{
	AnswersPlanner:  "capacity planner: how many acquisitions a second, how fast, and what does it cost?",
	AnswersCI:       "CI owner: is the lock as fast and as fair as it was?",
	AnswersDesigner: "designer of a service: can two clients hold this lock at once, and what stops the damage?",
	"":              "others",
}

// A Group has the scenarios that answer the questions of one reader.
type Group struct {
	Reader    string // AnswersPlanner, AnswersCI or AnswersDesigner; empty if the scenarios name none
	Question  string
	Scenarios []*Scenario
}

// ByAnswer groups scenarios by reader and keeps their order within each group. No group is empty.
func ByAnswer(all []*Scenario) []Group {
	var groups []Group
	for _, reader := range append(slices.Clone(readers), "") {
		g := Group{Reader: reader, Question: questions[reader]}
		for _, s := range all {
			if s.Answers == reader {
				g.Scenarios = append(g.Scenarios, s)
			}
		}
		if g.Scenarios != nil {
			groups = append(groups, g)
		}
	}
	return groups
}
