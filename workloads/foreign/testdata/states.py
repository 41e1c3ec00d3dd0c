"""A client of kazoo's that says which states of its connection it is told of, and what its lock says of itself when it
is asked. It does nothing about either."""

import queue
import sys
import threading

from kazoo.client import KazooClient

say_one = threading.Lock()
work = queue.Queue()


def say(*words):
    with say_one:
        print(*words, flush=True)


def take(what, step):
    try:
        answer = step()
    except Exception as e:
        answer = type(e).__name__ + ": " + str(e)
    say(what, answer)


def owner(lock):
    while True:
        what = work.get()
        if what == "acquire":
            take(what, lambda: "ok" if lock.acquire() else "refused")
        else:
            take(what, lambda: "ok" if lock.release() else "refused")


def main():
    servers, path, session_ms = sys.argv[1:]
    client = KazooClient(hosts=servers, timeout=int(session_ms) / 1000)
    client.add_listener(lambda state: say("state", state))
    client.start()
    lock = client.Lock(path)
    threading.Thread(target=owner, args=[lock], daemon=True).start()
    for line in sys.stdin:
        if line.strip() == "held":
            say("held", str(lock.is_acquired).lower())
        else:
            work.put(line.strip())


main()
