// Package history holds what happened in a run: events on one monotonic clock, the recorder that keeps them even if
// the process is killed, and the readers of what it wrote.
//
// The events of every process of a lab (clients, the resource, agents, the harness) flow in; each process writes its
// own with a [Recorder], and the harness collects it from an [Outbox]. The [Log] of events that checks and reports read
// flows out, merged by time, together with the [Acquisition] list derived from it.
//
// An Event is flat, so that a Recorder can write one without an allocation and in a fraction of a microsecond. The
// fields At, Process, Kind, Op, Client, Acq, Lock, Token, Session and Fault mean the same in every event that has
// them. Value, Target and Detail (and Mode, where no lock is meant) mean something else for each op: they are the
// recorded form of a payload. Code outside this package makes and reads them only through that payload:
//
//	ops                                  made by                     read by
//	acquire, attempt, queued, release,   methods of [Claim]          [Event.Permits], [Event.Attempt], [Acquisitions]
//	lost, trigger
//	enter, read, write, exit             [Claim.Access]              [Event.Access]
//	connected, disconnected, expired     [SessionChange]             [Event.SessionChange]
//	strike, trigger                      [Strike], [Claim.Trigger]   [Event.Strike]
//	process                              [ProcessChange]             [Event.ProcessChange]
//	network                              [NetworkChange]             [Event.NetworkChange]
//	fault-…                              [FaultStep]                 [Event.FaultStep]
//	server-log                           [ServerLog]                 [Event.ServerLog]
//	record-heading, record-received      [Heading], [Received]       [Event.Heading], [Event.Received]
//	file-content                         [Content]                   [Event.Content]
//	clock                                [WallClock]                 [Event.WallClock]
//	host-clock                           [ClockReading]              [Event.ClockReading]
//	final                                [Final]                     [Event.Final]
//	hiccups                              [Hiccups]                   [Event.Hiccups]
//	driver                               [Driver]                    [Event.Driver]
//
// The remaining ops carry one value or none. Each has a function that makes its event, and a method of Event that
// returns the value: [PhaseBegins] and [Event.Phase], for instance. A method that reads a payload means something only
// for the ops of its group; its caller has looked at Op.
//
// Hosts of several machines have several clocks. [ReadRaw] places what each of them recorded on the run's clock, and
// [Clocks] has by how much that may be off. Nothing else reads times of other clocks, except while a run lasts, where a
// [ClockFollower] places them.
//
// Whether a record is whole can be told from the record itself and from the harness's: its file begins with a
// [Heading], the process that ends as it was asked to leaves an end mark ([Recorder.End]), and the harness records how
// much it has [Received].
//
// The package is a leaf: it imports only the standard library, so that every process of a run can record without
// needing anything else.
package history
