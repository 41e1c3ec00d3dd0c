package chaos

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// together is several faults that are injected as one, such as the same fault on several hosts. It is done when the
// last of them is, and either all of them are done or none.
type together []Injector

// Inject injects all of them at once. If one fails, it heals the others.
func (t together) Inject(ctx context.Context) (*Harm, error) {
	all := make([]*Harm, len(t))
	err := atOnce(len(t), func(i int) (err error) {
		all[i], err = t[i].Inject(ctx)
		return err
	})
	harm := joined(all)
	if err == nil || harm == nil || harm.Heal == nil {
		return harm, err
	}
	return harm.withdraw(ctx, err)
}

// joined joins several harms into one; nil if there is none. The result needs healing if one of them does.
func joined(all []*Harm) *Harm {
	var done []*Harm
	one := &Harm{}
	heals, lasts := false, false // until it is healed
	for _, h := range all {
		if h == nil {
			continue
		}
		done = append(done, h)
		one.At = max(one.At, h.At)
		for _, host := range h.Hosts { // both ends of a link may be hosts of their own faults
			if !slices.Contains(one.Hosts, host) {
				one.Hosts = append(one.Hosts, host)
			}
		}
		one.Sessions = append(one.Sessions, h.Sessions...)
		one.Nodes = append(one.Nodes, h.Nodes...)
		heals = heals || h.Heal != nil
		lasts = lasts || h.Heal != nil && h.Over == nil
	}
	if done == nil {
		return nil
	}
	one.Verify = func(ctx context.Context) error {
		return atOnce(len(done), func(i int) error { return done[i].Verify(ctx) })
	}
	one.VerifyHealed = func(ctx context.Context) error {
		return atOnce(len(done), func(i int) error { return done[i].VerifyHealed(ctx) })
	}
	if !heals {
		return one
	}
	if !lasts {
		one.Over = func(ctx context.Context) error {
			return atOnce(len(done), func(i int) error {
				if done[i].Over == nil {
					return nil
				}
				return done[i].Over(ctx)
			})
		}
	}
	one.Heal = func(ctx context.Context) (at int64, err error) {
		when := make([]int64, len(done))
		err = atOnce(len(done), func(i int) (err error) {
			when[i] = done[i].At
			if done[i].Heal != nil {
				when[i], err = done[i].Heal(ctx)
			}
			return err
		})
		for _, w := range when {
			at = max(at, w)
		}
		return at, err
	}
	return one
}

// allOf calls all functions at the same time and joins their errors.
func allOf(f ...func() error) error { return atOnce(len(f), func(i int) error { return f[i]() }) }

// atOnce calls f for 0 to n-1 at the same time and joins the errors.
func atOnce(n int, f func(i int) error) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = f(i) })
	}
	wg.Wait()
	return errors.Join(errs...)
}
