// Package foreign drives locks that are not written in Go, or that are not part of
// this project. Such a lock is a command that speaks the lock protocol.
//
// In flow: requests for sessions and locks, by [Driver.Open] and [Session.Lock]. Out
// flow: lines to the command and, from its answers, [recipes.Hold] values and changes
// of the session. A client process uses such a lock as it uses one in Go; see package
// client.
//
// # The lock protocol, version 1
//
// A command reads requests from its standard input and writes answers to its
// standard output. Each is a line of at most 64 KiB of UTF-8: words with one space in
// between. Empty lines are ignored. The command's standard error goes to the log of the
// client process. The command must not keep answers in a buffer.
//
// This command in shell grants every request, so it does not lock anything:
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
// The number is the protocol's version. With per-client, the command is started once for
// each client and has one session at a time. With per-process, it is started once for
// each client process and has as many sessions as the process has clients.
//
// A command may declare the znodes by which its clients contend. Then its grants, their
// order and the znodes that it leaves behind are compared with the servers' transaction
// logs:
//
//	locklab-lock 1 per-client layout=LAYOUT
//
// A command that reads its input at any time may declare pings as well (layout=LAYOUT pings, or pings). It is then sent
// a ping ten times a second, and an answer that takes long is recorded as a standstill of its process: a collection of
// garbage, for instance, for which its lock is not to blame.
//
// LAYOUT is the name of a layout that locklab's own locks have: queue, read-write,
// textbook, semaphore or znode, which is one znode at the lock's path. Or it is a
// pattern for the end of the contenders' names. The contenders are then children of the
// lock's path, and # stands for the ten digits that the server appends: __lock__# is the
// layout of kazoo's Lock. Of two patterns with a comma in between, the second is for
// readers.
//
// # Requests
//
// IDs are positive numbers, and none is used twice in the life of a command. An
// answer names the ID of its request. A request may come while the answers to earlier
// ones are still due, and answers may come in any order.
//
//	open ID SERVERS TIMEOUT_MS PATHS
//	    Begin a session. SERVERS is host:port,host:port,… in the order in which to
//	    try them. TIMEOUT_MS is the session timeout to ask for. PATHS are the paths of
//	    all locks that may be acquired, with commas between them. Nobody has made any
//	    znode for them: the command makes the locks' parents if they are missing.
//	    Answer: opened, or failed.
//	acquire ID SESSION PATH MODE WAIT_MS
//	    Acquire a lock. SESSION is the ID of an open. MODE is one of exclusive, read,
//	    write and permits:K/MAX, which means K permits of a semaphore that has MAX. If
//	    PATH is several paths, with commas between them, the command must acquire all
//	    of them or none. WAIT_MS is how long the request may wait, and "-" means until
//	    it is cancelled. 0 means not at all: the command takes the lock if it is free,
//	    and otherwise answers timeout at once. (If it has not answered after 1 s, it is
//	    cancelled. A lock that can only wait fails such a request.) Each acquire is a
//	    contender of its own.
//	    Answer: granted, timeout or failed; before that, queued.
//	downgrade ID HELD
//	    Grant a read hold, under the new ID, beside the write hold of the acquire HELD,
//	    which is not released yet. No other writer may get in between. From then on the
//	    two are separate holds, and each is released by its own ID, the write hold first.
//	    In all other respects a downgrade is an acquire. Its token, if there is one, may
//	    be that of the write hold. If the lock cannot downgrade, or if the write hold is
//	    gone, the downgrade fails and the write hold stays. Only scenarios with a
//	    downgrade-share send this request.
//	    Answer: granted, timeout (after a cancel) or failed.
//	cancel ID
//	    Give up an acquire or downgrade. Its answer is still due, within 10 s. That
//	    answer may be granted, if the lock came first. The command ignores a cancel of a
//	    request that it has answered. (A command that cannot read while it waits, such
//	    as a plain shell script, must keep to WAIT_MS.)
//	release ID
//	    Release the hold of the acquire or downgrade ID.
//	    Answer: released, lost or failed. The command ignores a release of a hold that
//	    it has reported as lost.
//	close ID
//	    End the session that the open ID began, and free its locks. No other answers
//	    about them are due after that. A close may come before the answer to the open,
//	    which is then not due either.
//	    Answer: closed.
//	ping
//	    Sent only to a command that declared pings. Answer: pong, at once.
//	end
//	    Exit. The command's input ends too. If the command does not exit, it is killed.
//
// # Answers
//
// Words in brackets are optional. They can be left out from the end, and a "-" stands
// for one that is left out in the middle. TEXT is the rest of the line, for people.
//
//	opened ID [SESSION [TIMEOUT_MS [SERVER]]]
//	    SESSION is ZooKeeper's session id, as a decimal or 0x… number. TIMEOUT_MS is the
//	    session timeout that was granted. SERVER is the host:port that the session is
//	    connected to.
//	queued ID AHEAD
//	    The acquire has its place in the queue, behind AHEAD others. Sent at most once.
//	granted ID [TOKEN [SESSION [AT_NS]]]
//	    The lock is held. TOKEN is a fencing token: a number above 0 that is higher
//	    than that of every earlier holder. For several paths, it is one token for each,
//	    with commas between them. SESSION is the id of the session that holds the lock,
//	    if it is not that of opened. AT_NS is the time of the grant on CLOCK_MONOTONIC.
//	    It only serves to measure the protocol's own cost.
//	timeout ID
//	    The acquire has waited for WAIT_MS, or was cancelled. It holds nothing.
//	failed ID [TEXT]
//	    An open or acquire did not succeed. No session is open, or no lock is held, and
//	    the command is removing whatever the attempt has left. Of a release it means
//	    that the command does not know whether it succeeded.
//	released ID
//	    The lock is free of this holder.
//	lost ID [TEXT]
//	    The hold of the acquire ID has ended without a release.
//	disconnected ID [TEXT]
//	    The session ID has lost its connection.
//	connected ID [SERVER]
//	    The session ID is connected again.
//	expired ID [TEXT]
//	    The session has ended, and with it its holds and its waits. No further answers
//	    about these are due, but a late one is not an error. Another open begins a new
//	    session.
//	closed ID
//	    The session is closed.
//	pong
//	    The answer to a ping.
//	error TEXT
//	    The command cannot go on.
//
// # What is an error
//
// A command is broken if it ends, writes anything but answers, gives an answer that is
// not due (such as a second grant), does not greet, does not read its input, or does not
// answer a cancel in time. A broken command is killed, its holds count as lost, and the
// run ends with [ErrBroken] and says what the command did. Time in which the whole
// client process is stopped does not count.
//
// A command runs in the process group of the client process, so a fault that stops or
// kills a client process stops or kills its lock too.
package foreign
