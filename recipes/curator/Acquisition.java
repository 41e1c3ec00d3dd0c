package locklab.curator;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** One acquire, from its request to its release, on a thread that owns the lock meanwhile. */
final class Acquisition {
    private final long id;
    private final Session session;
    private final PeerLock lock;
    private final long waitMs; // below 0: for ever
    private final Output out;
    private final CountDownLatch unwanted = new CountDownLatch(1);
    private final Thread thread;
    private boolean decided; // granted or not: a cancel comes too late

    Acquisition(long id, Session session, PeerLock lock, long waitMs, Output out, Runnable done) {
        this.id = id;
        this.session = session;
        this.lock = lock;
        this.waitMs = waitMs;
        this.out = out;
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

    synchronized void cancel() {
        if (!decided) {
            thread.interrupt();
        }
    }

    void release() {
        unwanted.countDown();
    }

    private void live() {
        try {
            if (!acquired()) {
                out.say("timeout " + id);
                return;
            }
            long at = System.nanoTime(); // CLOCK_MONOTONIC on Linux
            out.say("granted " + id + " " + token() + " - " + at);
        } catch (InterruptedException e) {
            out.say("timeout " + id);
            return;
        } catch (Exception e) {
            out.say("failed " + id + " " + e);
            return;
        }
        try {
            unwanted.await();
            lock.release();
            out.say("released " + id);
        } catch (Exception e) {
            out.say("failed " + id + " " + e);
        }
    }

    private boolean acquired() throws Exception {
        try {
            return lock.acquire(waitMs < 0 ? Long.MAX_VALUE : waitMs, TimeUnit.MILLISECONDS);
        } finally {
            synchronized (this) {
                decided = true;
                Thread.interrupted(); // a cancel that came while the lock was being granted
            }
        }
    }

    /** A grant whose token cannot be read is given back. */
    private String token() throws Exception {
        try {
            return lock.token();
        } catch (Exception e) {
            lock.release();
            throw e;
        }
    }
}
