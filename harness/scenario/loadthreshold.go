package scenario

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// thresholdsKey is the key in files; the flag and the variable are of one threshold,
// and name it so.
const (
	thresholdsKey = "thresholds"
	// ThresholdFlag is the flag, without its dashes; it may be repeated.
	ThresholdFlag = "threshold"
	// ThresholdEnv is the variable; it may have several with commas between them.
	ThresholdEnv = "LOCKLAB_THRESHOLD"
)

// thresholdKey names a threshold in origins.
func thresholdKey(i int) string { return fmt.Sprintf("%s[%d]", thresholdsKey, i) }

func (l *loader) thresholds(at *token.Token, v ast.Node) {
	l.note(thresholdsKey, fileOrigin(at))
	list, ok := v.(*ast.SequenceNode)
	if !ok {
		l.refuse(v.GetToken(), thresholdsKey+" is a list, not "+kindOf(v), "entries like \"- acquire.p99 < 50ms\"")
		return
	}
	if len(list.Values) > maxThresholds {
		l.refuse(at, fmt.Sprintf("%d thresholds are too many", len(list.Values)), fmt.Sprintf("at most %d", maxThresholds))
		return
	}
	for _, entry := range list.Values {
		switch entry.(type) {
		case *ast.MappingNode, *ast.SequenceNode, *ast.NullNode:
			l.refuse(entry.GetToken(), "a threshold is one line of text, not "+kindOf(entry), thresholdHint)
			continue
		}
		text, ok := l.scalar(entry, Key{Name: "a threshold"})
		if !ok {
			continue
		}
		t, err := ParseThreshold(text)
		if err != nil {
			l.refuseValue(entry.GetToken(), err)
			continue
		}
		l.note(thresholdKey(len(l.Thresholds)), fileOrigin(entry.GetToken()))
		l.Thresholds = append(l.Thresholds, t)
	}
}

// SetThresholds puts these thresholds in the place of the scenario's, as the flag
// does, each of whose texts may be several with commas between them. The error is an
// *InputError that names the flag.
func (s *Scenario) SetThresholds(texts []string) error {
	return s.overrideThresholds(strings.Join(texts, ","), origin{rank: fromFlag, name: "--" + ThresholdFlag})
}

func (s *Scenario) applyThresholdEnv(lookup func(string) (string, bool)) error {
	text, ok := lookup(ThresholdEnv)
	if !ok || text == "" {
		return nil
	}
	return s.overrideThresholds(text, origin{rank: fromEnv, name: ThresholdEnv})
}

func (s *Scenario) overrideThresholds(texts string, from origin) error {
	var list []Threshold
	for text := range strings.SplitSeq(texts, ",") {
		t, err := ParseThreshold(text)
		if err != nil {
			return inFlag(from.name, err)
		}
		list = append(list, t)
	}
	if len(list) > maxThresholds {
		return &InputError{Flag: from.name, Msg: fmt.Sprintf("%d thresholds are too many", len(list)), Hint: fmt.Sprintf("at most %d", maxThresholds)}
	}
	if s.origins[thresholdsKey].rank > from.rank {
		return nil
	}
	s.Thresholds = list
	s.note(thresholdsKey, from)
	for i := range list {
		s.note(thresholdKey(i), from)
	}
	return nil
}
