"""kazoo's lock at full speed: clients that acquire and release a lock in a closed loop, each with a session of its own.

The Go package benchpeers runs this program and reads its record. Loop.java is the same for Curator.
"""

import os
import sys
import threading
import time

from concurrent.futures import ThreadPoolExecutor

from kazoo.client import KazooClient

SETTING_UP = 64  # clients at a time
FIRST_ROUNDS = 2  # of every client, before the process is ready


def usage():
    """The time, the processor time of the process in ticks of 10 ms, and its resident memory in KiB."""
    now = time.monotonic_ns()
    with open("/proc/self/stat") as stat:
        fields = stat.read().rpartition(")")[2].split()  # from the third field on
    with open("/proc/self/status") as status:
        resident = next(line.split()[1] for line in status if line.startswith("VmRSS:"))
    return "%d %d %s" % (now, int(fields[11]) + int(fields[12]), resident)


def expect(word):
    line = sys.stdin.readline().strip()
    if line != word:
        raise RuntimeError("expected %s, got %r" % (word, line))


def main():
    if len(sys.argv) < 6:
        sys.exit("usage: kazoo_loop.py PATH LOCKS CLIENTS SESSION_TIMEOUT_MS SERVER...")
    path, locks, n, timeout = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]) / 1000
    servers = sys.argv[5:]
    ended = threading.Event()
    ready = threading.Semaphore(0)
    clients = [KazooClient(hosts=servers[i % len(servers)], timeout=timeout) for i in range(n)]
    holds = [[] for _ in clients]

    def contend(i):
        try:
            lock = clients[i].Lock("%s/%d" % (path, i % locks))
            mine = holds[i]
            while not ended.is_set():
                asked = time.monotonic_ns()
                lock.acquire()
                granted = time.monotonic_ns()
                lock.release()
                mine.append((asked, granted, time.monotonic_ns()))
                if len(mine) == FIRST_ROUNDS:
                    ready.release()
        except BaseException as e:  # a comparison that lacks a client is worthless
            print("client %d: %r" % (i, e), file=sys.stderr, flush=True)
            os._exit(1)

    with ThreadPoolExecutor(SETTING_UP) as pool:
        list(pool.map(lambda c: c.start(timeout=timeout), clients))
    threads = [threading.Thread(target=contend, args=(i,)) for i in range(n)]
    for t in threads:
        t.start()
    for _ in clients:
        ready.acquire()
    open("ready", "x").close()
    expect("begin")
    begin = usage()
    expect("end")
    end = usage()
    ended.set()
    for t in threads:
        t.join()
    with ThreadPoolExecutor(SETTING_UP) as pool:
        list(pool.map(lambda c: (c.stop(), c.close()), clients))
    with open("record.part", "w") as out:
        print(begin, end, sep="\n", file=out)
        for mine in holds:
            for hold in mine:
                print(*hold, file=out)
    os.rename("record.part", "record")


main()
