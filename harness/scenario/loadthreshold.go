package scenario

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

const (
	// thresholdsKey is the key in files. The flag and the variable are named in the singular, as each gives one.
	thresholdsKey = "thresholds"
	// ThresholdFlag is the flag, without its dashes; it may be repeated.
	ThresholdFlag = "threshold"
	// ThresholdEnv is the variable; it may have several with commas between them.
	ThresholdEnv = "LOCKLAB_THRESHOLD"
)

// thresholdKey names a threshold in origins.
func thresholdKey(i int) string { return fmt.Sprintf("%s[%d]", thresholdsKey, i) }

func (l *loader) thresholds(at *token.Token, v ast.Node) {
	for _, entry := range l.list(thresholdsKey, at, v, maxThresholds, "entries like \"- acquire.p99 < 50ms\"") {
		switch entry.(type) {
		case *ast.MappingNode, *ast.SequenceNode, *ast.NullNode:
			l.refuse(entry.GetToken(), "a threshold is one line of text, not "+kindOf(entry), thresholdHint)
			continue
		}
		text, ok := l.scalar(entry, named("a threshold"))
		if !ok {
			continue
		}
		t, err := ParseThreshold(text)
		if err != nil {
			l.refuseValue(entry.GetToken(), err)
			continue
		}
		l.note(thresholdKey(len(l.Thresholds)), l.origin(entry.GetToken()))
		l.Thresholds = append(l.Thresholds, t)
	}
}

// SetThresholds replaces the scenario's thresholds, as the flag does. Each text may have several with commas between
// them. The error is an [*InputError] that names the flag.
func (s *Scenario) SetThresholds(texts []string) error {
	return s.overrideThresholds(strings.Join(texts, ","), origin{rank: fromFlag, name: "--" + ThresholdFlag})
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
		hint := fmt.Sprintf("at most %d", maxThresholds)
		return &InputError{Flag: from.name, Msg: tooMany(len(list), thresholdsKey), Hint: hint}
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
