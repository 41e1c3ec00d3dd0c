package recipes

// A NaiveRW is the read/write lock that most people write first: the same queue as [FairRW], on the same path if need
// be, but every waiter watches the whole directory. Each arrival and each departure wakes all waiters, most of which
// find that it does not concern them. It is there to be compared with.
type NaiveRW struct {
	rwLines
}

// NewNaiveRW checks the configuration. It asks the service nothing.
func NewNaiveRW(cfg RWConfig) (*NaiveRW, error) {
	lines, err := newRWLines("naive-rw", cfg, textbookLayout)
	if err != nil {
		return nil, err
	}
	lines.read.herd, lines.write.herd = true, true
	return &NaiveRW{lines}, nil
}
