package secondopinion

import (
	"fmt"
	"time"

	"github.com/anishathalye/porcupine"
)

// A judgement is what Porcupine says of a list of operations.
type judgement struct {
	legal      Answer // whether the operations can be put into an order that the model allows
	operations int
	why        string
	took       time.Duration
}

// limits are those of one question.
type limits struct {
	operations int
	time       time.Duration
}

var usual = limits{MaxOperations, MaxTime}

// judge asks Porcupine, unless there are too many operations.
func (l limits) judge(model porcupine.Model, ops []porcupine.Operation) judgement {
	j := judgement{legal: None, operations: len(ops)}
	if len(ops) > l.operations {
		j.why = fmt.Sprintf("%d operations are more than %d", len(ops), l.operations)
		return j
	}
	begun := time.Now()
	result := porcupine.CheckOperationsTimeout(model, ops, l.time)
	j.took = time.Since(begun)
	switch result {
	case porcupine.Ok:
		j.legal = Yes
	case porcupine.Illegal:
		j.legal = No
	default:
		j.why = fmt.Sprintf("it found no answer within %s", l.time)
	}
	return j
}

// illegal is the answer to the question whether the model was broken.
func (j judgement) illegal() Answer {
	switch j.legal {
	case Yes:
		return No
	case No:
		return Yes
	}
	return None
}
