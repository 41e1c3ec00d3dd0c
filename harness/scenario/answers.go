package scenario

import "slices"

// Who asks the question that a scenario answers.
const (
	AnswersPlanner  = "planner"  // of capacity
	AnswersCI       = "ci"       // the owner of a build that must not get slower
	AnswersDesigner = "designer" // of a service that relies on a lock
)

var askers = []string{AnswersPlanner, AnswersCI, AnswersDesigner}

var questions = map[string]string{
	AnswersPlanner:  "capacity planner: how many acquisitions a second, how fast, and what does it cost?",
	AnswersCI:       "CI owner: is the lock as fast and as fair as it was?",
	AnswersDesigner: "designer of a service: can two hold this lock at once, and what stops the damage?",
	"":              "others",
}

// A Group is scenarios that answer the questions of one asker.
type Group struct {
	Asker     string // AnswersPlanner, AnswersCI, AnswersDesigner; or empty for those that do not say
	Question  string
	Scenarios []*Scenario
}

// ByAnswer groups scenarios by asker, in their own order. No group is empty.
func ByAnswer(all []*Scenario) []Group {
	var groups []Group
	for _, asker := range append(slices.Clone(askers), "") {
		g := Group{Asker: asker, Question: questions[asker]}
		for _, s := range all {
			if s.Answers == asker {
				g.Scenarios = append(g.Scenarios, s)
			}
		}
		if g.Scenarios != nil {
			groups = append(groups, g)
		}
	}
	return groups
}

// answersValue is one of the askers, or empty.
type answersValue struct{ p *string }

func (v answersValue) String() string { return *v.p }
func (v answersValue) Set(text string) error {
	if text == "" {
		*v.p = ""
		return nil
	}
	return choiceValue{v.p, askers}.Set(text)
}

func (answersValue) schema(Key) object { return object{"enum": askers} }
