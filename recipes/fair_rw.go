package recipes

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
