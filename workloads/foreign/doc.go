// Package foreign drives locks that are not written in Go, or not part of this
// project: your own lock, in a command that speaks the lock protocol.
//
// In flow: requests for sessions and locks, by [Driver.Open] and [Session.Lock]. Out
// flow: lines to the command; from its answers, [recipes.Hold] values and changes
// of the session. What a client process needs of a lock is the same as of one in
// Go; see package client.
//
// # The lock protocol, version 1
//
// A command reads requests from its standard input and writes answers to its
// standard output, each a line of words with one space in between, in UTF-8, of at
// most 64 KiB. Empty lines are ignored. What it writes to its standard error ends up
// in the log of the client process. Answers must not wait in a buffer.
//
// A command in shell, whose lock is none:
//
//	echo locklab-lock 1 per-client
//	while read -r verb id rest; do
//	  case $verb in
//	  open) echo "opened $id" ;;
//	  acquire) echo "granted $id" ;;
//	  release) echo "released $id" ;;
//	  close) echo "closed $id" ;;
//	  end) exit ;;
//	  esac
//	done
//
// # Greeting
//
// The command speaks first, within 30 s of its start:
//
//	locklab-lock 1 per-client
//	locklab-lock 1 per-process
//
// The number is the protocol's version. With per-client it is started once for each
// client and has one session at a time; with per-process, once for each client
// process, and has as many sessions as there are clients.
//
// A command may add by which znodes its clients contend. Then its grants, their order
// and what it leaves behind are compared with the servers' transaction logs:
//
//	locklab-lock 1 per-client layout=LAYOUT
//
// LAYOUT is a name from the table of recipes: queue, read-write, textbook, semaphore or
// znode, which is one znode at the lock's path. Or it says how the names of the
// contenders, which are children of the lock's path, end, with # for the ten digits
// that the server appends: __lock__# is the layout of kazoo's Lock. With two such
// patterns and a comma in between, the second is that of readers.
//
// # Requests
//
// IDs are positive numbers, and none is used twice in the life of a command. An
// answer names the ID of the request that it is about. Requests are not waited for:
// the next may come while the answer to another is still due, and answers may come
// in any order.
//
//	open ID SERVERS TIMEOUT_MS PATHS
//	    Begin a session. SERVERS is host:port,host:port,… in the order in which to
//	    try them; TIMEOUT_MS the session timeout to ask for; PATHS, with commas
//	    between them, those of all locks that may be acquired.
//	    Answer: opened, or failed.
//	acquire ID SESSION PATH MODE WAIT_MS
//	    Acquire a lock. SESSION is the ID of an open. MODE is one of exclusive, read,
//	    write and permits:K/MAX, that is K permits of a semaphore that has MAX. Where
//	    PATH is several, with commas between them, all are to be held, or none.
//	    WAIT_MS is how long the request may wait, 0 = not at all, or "-" = until it
//	    is cancelled. Each acquire is a contender of its own.
//	    Answer: granted, timeout or failed; before it, queued.
//	downgrade ID HELD
//	    Give a read hold, under the new ID, beside the write hold that the acquire HELD
//	    was granted and that is not released: at once, without a moment in which another
//	    writer could get in. Both are holds of their own then, and each is released by its
//	    own ID, the write hold first. It is an acquire in all else: its token, if there is
//	    one, may be that of the write hold. It fails, and the write hold stays, where the
//	    lock cannot do it, or where the write hold is gone. Asked of no command but one of
//	    a scenario with a downgrade-share.
//	    Answer: granted, timeout (after a cancel) or failed.
//	cancel ID
//	    Give an acquire or downgrade up. Its answer is still due, within 10 s; granted is one, if
//	    the lock came first. To be ignored if the answer was given meanwhile. (A
//	    command that cannot read while it waits, such as a plain shell script, must
//	    keep to WAIT_MS.)
//	release ID
//	    Release what the acquire or downgrade ID was granted.
//	    Answer: released, lost or failed. To be ignored after a lost.
//	close ID
//	    End the session that the open ID began, and whatever is left of it: its locks
//	    are free after it. Nothing else about them is due any more. It may come before
//	    the answer to the open, which is not due then either.
//	    Answer: closed.
//	end
//	    The command is to exit. Its input ends too. It is killed if it does not.
//
// # Answers
//
// In brackets is what may be left out, from the end; a "-" leaves a word out in the
// middle. TEXT is the rest of the line, for people.
//
//	opened ID [SESSION [TIMEOUT_MS [SERVER]]]
//	    SESSION is ZooKeeper's session id, as decimal or 0x… number; TIMEOUT_MS the
//	    session timeout granted; SERVER the host:port that it is connected to.
//	queued ID AHEAD
//	    The acquire has its place in the queue, with so many ahead. At most once.
//	granted ID [TOKEN [SESSION [AT_NS]]]
//	    The lock is held. TOKEN is a fencing token: a number above 0 that is higher
//	    than that of every earlier holder; of several paths, one each, with commas
//	    between them. SESSION is the id of the session that holds, if it is not that of
//	    opened. AT_NS is when it was granted on CLOCK_MONOTONIC; it tells the
//	    protocol's own cost, and nothing else.
//	timeout ID
//	    The acquire has waited for WAIT_MS, or was cancelled. Nothing is held.
//	failed ID [TEXT]
//	    An open or acquire did not succeed: nothing is open, or held, and what the
//	    attempt left is being removed. Or it is not known whether a release did.
//	released ID
//	    The lock is free of this holder.
//	lost ID [TEXT]
//	    What the acquire ID was granted is held no longer.
//	disconnected ID [TEXT]
//	    The session ID has lost its connection.
//	connected ID [SERVER]
//	    It is connected again.
//	expired ID [TEXT]
//	    The session is over, and with it all that it held and waited for: no further
//	    answer about these is due, but a late one is no error. A new session comes by
//	    another open.
//	closed ID
//	    The session is closed.
//	error TEXT
//	    The command cannot go on.
//
// # What is an error
//
// A command that ends, writes something else than an answer, answers what it was not
// asked (grants twice, for instance), does not greet, does not read its input, or
// does not answer a cancel in time, is broken: it is killed, everything it held counts as
// lost, and the run ends with what it did, [ErrBroken]. Time in which the whole client
// process is stopped does not count.
//
// A command runs in the process group of the client, so that to stop or kill
// a client is to stop or kill its lock too.
package foreign
