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

// A FairRW is the read/write lock of ZooKeeper's manual without its herd: a reader watches the last writer before it, a
// writer the contender just before it, so that a release wakes only contenders that may have been waiting for it. It
// differs from [RW] by the names of its znodes, and cannot downgrade. It is there to be compared with.
type FairRW struct {
	rwLines
}

// NewFairRW checks the configuration. It asks the service nothing.
func NewFairRW(cfg RWConfig) (*FairRW, error) {
	lines, err := newRWLines("fair-rw", cfg, textbookLayout)
	if err != nil {
		return nil, err
	}
	return &FairRW{lines}, nil
}
