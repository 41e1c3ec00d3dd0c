package evidence

import "locklab/harness/history"

// TakenTogether returns the acquisitions that were called for before the others of the same number had returned, so
// that a client took several locks at once.
func (d *Digest) TakenTogether() map[*history.Acquisition]bool {
	return d.together.Of(func() map[*history.Acquisition]bool {
		several := map[*history.Acquisition]bool{}
		last := map[string]*history.Acquisition{} // by client
		for i := range d.Acquisitions {
			a := &d.Acquisitions[i]
			if b := last[a.Client]; b != nil && b.N == a.N && b.Lock != a.Lock && b.Process == a.Process &&
				b.Died == a.Died && (b.Returned == history.None || b.Returned >= a.Invoked) {
				several[a], several[b] = true, true
			}
			last[a.Client] = a
		}
		return several
	})
}
