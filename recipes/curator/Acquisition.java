package locklab.curator;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * One acquire, from its request to its release, on a thread that owns the lock meanwhile, and the
 * downgrade of what it was granted, which only that thread can do.
 */
final class Acquisition {
    private static final long NOBODY = -1;

    private final long id;
    private final Session session;
    private final PeerLock lock;
    private final long waitMs; // below 0: for ever
    private final Output out;
    private final BlockingQueue<Runnable> steps = new LinkedBlockingQueue<>(); // after the grant
    private final Map<Long, PeerLock> held = new LinkedHashMap<>(); // by the request's id; the thread's own
    private final Thread thread;
    private long waiting; // the request that may be cancelled; otherwise a cancel comes too late

    Acquisition(long id, Session session, PeerLock lock, long waitMs, Output out, Runnable done) {
        this.id = id;
        this.session = session;
        this.lock = lock;
        this.waitMs = waitMs;
        this.out = out;
        waiting = id;
        thread = new Thread(() -> {
            try {
                live();
            } finally {
                done.run();
            }
        }, "acquire " + id);
        thread.setDaemon(true);
    }

    Session session() {
        return session;
    }

    void start() {
        thread.start();
    }

    synchronized void cancel(long request) {
        if (waiting == request) {
            thread.interrupt();
        }
    }

    /** Acquires the read lock beside the write lock that the request write was granted. */
    void downgrade(long request, long write) {
        steps.add(() -> {
            PeerLock read = held.containsKey(write) ? held.get(write).readSide() : null;
            if (read == null) {
                out.say("failed " + request + " no write lock that could be downgraded");
                return;
            }
            attempt(request, read, -1);
        });
    }

    void release(long request) {
        steps.add(() -> {
            PeerLock l = held.remove(request);
            if (l == null) {
                return; // answered already
            }
            try {
                l.release();
                out.say("released " + request);
            } catch (Exception e) {
                out.say("failed " + request + " " + e);
            }
        });
    }

    /** Ends the thread, because the session has ended. */
    void abandon() {
        synchronized (this) {
            if (waiting != NOBODY) {
                thread.interrupt();
            }
        }
        steps.add(() -> {
            held.clear();
        });
    }

    private void live() {
        attempt(id, lock, waitMs);
        try {
            while (!held.isEmpty()) {
                steps.take().run();
            }
        } catch (InterruptedException e) {
            out.say("error acquisition " + id + " was interrupted"); // no code interrupts it
        }
    }

    private void attempt(long request, PeerLock l, long wait) {
        try {
            if (!acquired(request, l, wait)) {
                out.say("timeout " + request);
                return;
            }
            long at = System.nanoTime(); // CLOCK_MONOTONIC on Linux
            String token = token(l);
            held.put(request, l);
            out.say("granted " + request + " " + token + " - " + at);
        } catch (InterruptedException e) {
            out.say("timeout " + request);
        } catch (Exception e) {
            out.say("failed " + request + " " + e);
        }
    }

    private boolean acquired(long request, PeerLock l, long wait) throws Exception {
        synchronized (this) {
            waiting = request;
        }
        try {
            return l.acquire(wait < 0 ? Long.MAX_VALUE : wait, TimeUnit.MILLISECONDS);
        } finally {
            synchronized (this) {
                waiting = NOBODY;
                Thread.interrupted(); // a cancel that came while the lock was being granted
            }
        }
    }

    /** Releases a grant whose token cannot be read. */
    private static String token(PeerLock l) throws Exception {
        try {
            return l.token();
        } catch (Exception e) {
            l.release();
            throw e;
        }
    }
}
