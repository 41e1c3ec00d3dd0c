import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.data.Stat;

/**
 * A lock in Java behind the lock protocol of locklab, which workloads/foreign/PROTOCOL.md in its repository specifies.
 * It needs nothing but ZooKeeper's own client.
 *
 * <p>locklab starts this command once for each client, so it has one session at a time. The main thread reads requests
 * and answers pings at once, so it never waits: each acquire has a thread, and ZooKeeper's own thread reports changes of
 * the session.
 *
 * <p>To test a lock of yours, change the class Attempt: take, giveBack, and what they need.
 */
public final class Lock {
    private static Session session;
    private static final Map<String, Attempt> attempts = new ConcurrentHashMap<>();

    static synchronized void say(Object... words) {
        StringBuilder line = new StringBuilder();
        for (Object w : words) {
            line.append(line.length() == 0 ? "" : " ").append(String.valueOf(w).replaceAll("[\r\n]", " "));
        }
        System.out.println(line);
        System.out.flush();
    }

    public static void main(String[] args) throws IOException {
        say("locklab-lock 1 per-client layout=queue pings");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null && !line.equals("end"); line = in.readLine()) {
            String[] w = line.split(" ");
            switch (w[0]) {
                case "open": // ID SERVERS TIMEOUT_MS PATHS
                    session = new Session(w[1], w[2], Integer.parseInt(w[3]));
                    break;
                case "acquire": // ID SESSION PATH MODE WAIT_MS
                    Attempt a = new Attempt(w[1], session, w[3], w[4], w[5].equals("-") ? -1 : Long.parseLong(w[5]));
                    attempts.put(w[1], a);
                    background(a::acquire);
                    break;
                case "cancel":
                    attempts.get(w[1]).cancel();
                    break;
                case "release":
                    background(attempts.remove(w[1])::release);
                    break;
                case "close":
                    background(session::close);
                    break;
                case "ping":
                    say("pong");
                    break;
                default:
                    say("error", "request is not understood:", line);
            }
        }
        System.exit(0);
    }

    static void background(Runnable work) {
        Thread t = new Thread(work);
        t.setDaemon(true);
        t.start();
    }

    /** A connection, for as long as it has its ZooKeeper session. */
    static final class Session {
        final String id;
        final ZooKeeper zk;
        final List<ACL> acl;
        private boolean opened;
        private boolean over;

        Session(String id, String servers, int timeoutMs) throws IOException {
            this.id = id;
            String credential = System.getenv("LOCKLAB_CREDENTIAL"); // user:password, if the ensemble wants one
            acl = credential == null ? ZooDefs.Ids.OPEN_ACL_UNSAFE : ZooDefs.Ids.CREATOR_ALL_ACL;
            synchronized (this) { // changed waits until zk is set
                zk = new ZooKeeper(servers, timeoutMs, this::changed);
                if (credential != null) {
                    zk.addAuthInfo("digest", credential.getBytes(StandardCharsets.UTF_8));
                }
            }
        }

        private synchronized void changed(WatchedEvent e) {
            if (over || e.getType() != Watcher.Event.EventType.None) {
                return;
            }
            switch (e.getState()) {
                case SyncConnected:
                    if (opened) {
                        say("connected", id);
                    } else {
                        say("opened", id, String.format("0x%x", zk.getSessionId()), zk.getSessionTimeout());
                    }
                    opened = true;
                    break;
                case Disconnected:
                    if (opened) {
                        say("disconnected", id);
                    }
                    break;
                case Expired:
                case AuthFailed:
                    over = true;
                    say(opened ? "expired" : "failed", id, e.getState());
                    break;
                default:
            }
        }

        void close() {
            synchronized (this) {
                over = true;
            }
            try {
                zk.close();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            say("closed", id);
        }
    }

    /** An acquire, and the hold that it may become. */
    static final class Attempt {
        private final String id;
        private final ZooKeeper zk;
        private final List<ACL> acl;
        private final String path;
        private final String mode;
        private final long waitMs; // -1: no limit
        private final String guid = UUID.randomUUID().toString(); // finds our znode if the answer to create is lost
        private final Semaphore moved = new Semaphore(0); // something has happened that we wait for
        private volatile boolean cancelled;
        private String own;

        Attempt(String id, Session s, String path, String mode, long waitMs) {
            this.id = id;
            this.zk = s.zk;
            this.acl = s.acl;
            this.path = path;
            this.mode = mode;
            this.waitMs = waitMs;
        }

        void acquire() {
            if (!mode.equals("exclusive")) {
                say("failed", id, "this lock is exclusive");
                return;
            }
            try {
                long token = take();
                if (token == 0) {
                    giveBack();
                    say("timeout", id);
                } else {
                    say("granted", id, token);
                }
            } catch (Exception e) {
                say("failed", id, e);
            }
        }

        void cancel() {
            cancelled = true;
            moved.release();
        }

        void release() {
            try {
                say(giveBack() ? "released" : "lost", id);
            } catch (KeeperException.SessionExpiredException e) {
                say("lost", id, e);
            } catch (Exception e) {
                say("failed", id, e);
            }
        }

        /** Waits for the lock, and returns its token, or 0 if the time is over or the acquire was cancelled. */
        private long take() throws Exception {
            long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(waitMs);
            own = join();
            while (true) {
                String ahead = null; // the last one before us
                for (String name : children()) {
                    if (number(name) < number(own) && (ahead == null || number(name) > number(ahead))) {
                        ahead = name;
                    }
                }
                if (ahead == null) {
                    Stat stat = retry(() -> zk.exists(path + "/" + own, false));
                    if (stat == null) {
                        throw new IllegalStateException("our znode is gone");
                    }
                    return stat.getCzxid();
                }
                String watched = path + "/" + ahead;
                if (retry(() -> zk.exists(watched, e -> moved.release())) == null) {
                    continue;
                }
                if (waitMs < 0) {
                    moved.acquire();
                } else if (!moved.tryAcquire(deadline - System.nanoTime(), TimeUnit.NANOSECONDS)) {
                    return 0;
                }
                if (cancelled) {
                    return 0;
                }
            }
        }

        /** Takes our znode away, and reports whether it was there. */
        private boolean giveBack() throws Exception {
            boolean[] tried = {false}; // a delete whose answer was lost may have been executed
            return retry(() -> {
                try {
                    zk.delete(path + "/" + own, -1);
                    return true;
                } catch (KeeperException.NoNodeException e) {
                    return tried[0];
                } finally {
                    tried[0] = true;
                }
            });
        }

        /** Makes our znode at the end of the queue, and its parents, and returns its name. */
        private String join() throws Exception {
            for (int i = path.indexOf('/', 1); ; i = path.indexOf('/', i + 1)) {
                String dir = i < 0 ? path : path.substring(0, i);
                retry(() -> {
                    try {
                        return zk.create(dir, new byte[0], acl, CreateMode.PERSISTENT);
                    } catch (KeeperException.NodeExistsException e) {
                        return dir;
                    }
                });
                if (i < 0) {
                    break;
                }
            }
            String made = retry(() -> {
                for (String name : children()) {
                    if (name.startsWith(guid)) {
                        return name;
                    }
                }
                return zk.create(path + "/" + guid + "-lock-", new byte[0], acl, CreateMode.EPHEMERAL_SEQUENTIAL);
            });
            return made.substring(made.lastIndexOf('/') + 1);
        }

        private String[] children() throws Exception {
            return retry(() -> zk.getChildren(path, false)).stream().filter(n -> n.contains("-lock-"))
                    .toArray(String[]::new);
        }

        private static long number(String name) {
            return Long.parseLong(name.substring(name.length() - 10));
        }
    }

    interface Request<T> {
        T send() throws Exception;
    }

    /** Repeats a request while the connection is lost. It ends with the session. */
    static <T> T retry(Request<T> request) throws Exception {
        while (true) {
            try {
                return request.send();
            } catch (KeeperException.ConnectionLossException e) {
                Thread.sleep(100);
            }
        }
    }
}
