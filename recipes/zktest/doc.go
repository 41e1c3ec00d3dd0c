// Package zktest is a ZooKeeper service in memory, for tests of code that uses locks: what does it do when the
// connection breaks, the session expires, or an answer takes long?
//
//	srv := zktest.Start(t) // listens on 127.0.0.1 until the test ends
//	s, err := recipes.Connect(ctx, recipes.SessionConfig{Config: recipes.Config{Servers: srv.Addrs()}})
//	…
//	srv.LoseReply(zktest.OpCreate2)                    // executed, and the client does not hear of it
//	srv.Disconnect(s.ID())                             // the client connects again at once
//	srv.CutOff(s.ID())                                 // or not before srv.Restore
//	srv.Delay(zktest.OpGetChildren2, 300*time.Millisecond)
//	srv.Expire(s.ID())
//
// # Ways in
//
// A service speaks ZooKeeper's protocol, so that the code under test runs unchanged, the real client included. With
// [Start] or [Service.Listen] that is over TCP. With [Service.Dial] as the client's Dial function it is over pipes in
// memory, so that a test can run in a bubble of testing/synctest: all timeouts are virtual then, on both sides, and
// an hour takes no time. [Service.Session] is the shortest way: a [zksession.ZooKeeper] without a connection, for
// recipes.NewSession, where each call can be held up or lost by itself.
//
// # Which request
//
// An acquisition sends create2, and a list beside it. The first acquisition below a new path sends create2 twice: the
// service refuses the first one, because there is no directory yet, and the client creates the directory in between. So
// a fault of the next create2 meets the refused one there. Acquire once before you set the fault.
//
// # Time
//
// Sessions expire and delays end by the service's [Clock]. It is that of package time unless [Config] has
// another, so in a bubble of testing/synctest it is virtual.
//
// # What it models
//
// The model has znodes with data, versions, transaction ids and the count of creates that numbers sequential znodes;
// persistent, ephemeral and container znodes; permissions, with digests and the world; transactions of several
// operations; watches, which fire once, in the order of the changes and before the answer to a later request, and tell
// only clients that may read the znode, as since ZooKeeper 3.8.4; sessions that are kept, moved, closed and expired;
// several servers, of which each may lag behind until it syncs, or be stopped. A test of this package plays the same
// random requests on a real ensemble and compares every answer and event.
//
// It differs from a real service in these points. There is no election, and no lost transaction: a write is committed
// when it is executed. A session expires exactly at its timeout, while real servers round up to a tick. A session that
// connects to another server loses the old connection at once. The service deletes empty containers only when
// [Service.ReapContainers] is called. It has no TTL znodes, which real servers refuse by default, no TLS, no SASL, no
// quotas and no persistent watches; it answers requests that it does not know with "unimplemented".
package zktest
