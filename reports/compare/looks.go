package compare

// A benchmark with a budget compares what it has several times, and stops when the answer is clear. Each comparison is
// another chance to be wrong, so the error rates are spent in parts, as Lan and DeMets proposed (Biometrika 1983, and
// 1989 for time in place of information). By the time that the share t of the budget has been used, t² of the error
// rates have been (the power family of Kim and DeMets, 1987). The parts are simply added up, which is safe whatever the
// distribution and however the looks depend on each other, and costs intervals that are a tenth wider than the
// narrowest possible.

// A Look is a time at which a benchmark compared what it had.
type Look struct {
	// Pairs is how many pairs of runs there were.
	Pairs int `json:"pairs"`
	// Spent is the share of the budget that had been used, from 0 to 1.
	Spent float64 `json:"spent"`
}

// MinShare is the least share of the budget between two looks.
const MinShare = 0.2

// errorsBy is the share of the error rates that may have been used when a share of the budget has been.
func errorsBy(spent float64) float64 { return spent * spent }

// shareOfErrors returns the share of the error rates that a comparison of a number of pairs may use: what has become
// available since the look before. Runs that no look has seen are compared with all that the looks have left.
func shareOfErrors(looks []Look, pairs int) float64 {
	before := 0.0
	for _, l := range looks {
		if l.Pairs >= pairs {
			return errorsBy(l.Spent) - before
		}
		before = errorsBy(l.Spent)
	}
	return 1 - before
}
