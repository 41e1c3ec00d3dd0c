// Package fail gives errors a class, from which the exit code of a command follows.
//
// In flow: the texts of sentinel errors, each with its class. Out flow: errors that [errors.Is] finds by their class,
// such as [Input], however they are wrapped.
package fail

// A Class says whose fault a failure is. It is an error only so that errors.Is can ask for it.
type Class string

// The classes. An error without one is a failure of locklab itself.
const (
	Interrupted Class = "interrupted"         // by the user
	Input       Class = "bad input"           // what the user gave cannot be used
	Violation   Class = "violation"           // a lock broke a promise
	Unknown     Class = "inconclusive"        // what was asked cannot be told
	Environment Class = "the machine's lacks" // this machine, or an ensemble elsewhere, lacks something
)

// Error implements error.
func (c Class) Error() string { return string(c) }

// New returns a sentinel error of the class.
func (c Class) New(text string) error { return &sentinel{c, text} }

type sentinel struct {
	class Class
	text  string
}

func (s *sentinel) Error() string { return s.text }

func (s *sentinel) Is(target error) bool { return target == error(s.class) }
