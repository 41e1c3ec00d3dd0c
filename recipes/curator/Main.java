package locklab.curator;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Curator's locks behind the lock protocol: requests in, answers out. */
public final class Main {
    private final Output out;
    private final Peer peer;
    private final Map<Long, Session> sessions = new ConcurrentHashMap<>();
    private final Map<Long, Acquisition> acquisitions = new ConcurrentHashMap<>();

    private Main(Output out, Peer peer) {
        this.out = out;
        this.peer = peer;
    }

    public static void main(String[] args) throws Exception {
        Output out = new Output(System.out);
        System.setOut(System.err); // what libraries print is not an answer
        Peer peer = args.length == 1 ? Peer.named(args[0]) : null;
        if (peer == null) {
            System.err.println("usage: Main RECIPE, one of " + Peer.names());
            System.exit(2);
        }
        out.say("locklab-lock 1 per-process");
        new Main(out, peer).serve(new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8)));
        System.exit(0); // Curator may have left threads
    }

    private void serve(BufferedReader in) throws Exception {
        for (String line = in.readLine(); line != null && !line.equals("end"); line = in.readLine()) {
            String[] w = line.split(" ");
            long id = Long.parseLong(w[1]);
            switch (w[0]) {
                case "open":
                    Session s = new Session(id, w[2], Integer.parseInt(w[3]), out, () -> end(id));
                    sessions.put(id, s);
                    s.start();
                    break;
                case "acquire":
                    acquire(id, w);
                    break;
                case "downgrade":
                    downgrade(id, Long.parseLong(w[2]));
                    break;
                case "cancel":
                    Acquisition waiting = acquisitions.get(id);
                    if (waiting != null) {
                        waiting.cancel(id);
                    }
                    break;
                case "release":
                    Acquisition held = acquisitions.get(id);
                    if (held != null) {
                        held.release(id);
                    }
                    break;
                case "close":
                    close(id);
                    break;
                default:
                    out.say("error unknown request " + line);
            }
        }
    }

    private void acquire(long id, String[] w) {
        Session s = sessions.get(Long.parseLong(w[2]));
        if (s == null) {
            out.say("failed " + id + " no such session");
            return;
        }
        long wait = w[5].equals("-") ? -1 : Long.parseLong(w[5]);
        try {
            PeerLock lock = peer.lock(s, w[3], w[4]);
            Acquisition a = new Acquisition(id, s, lock, wait, out, () -> forget(id));
            acquisitions.put(id, a);
            a.start();
        } catch (IllegalArgumentException e) {
            out.say("failed " + id + " " + e.getMessage());
        }
    }

    private void downgrade(long id, long write) {
        Acquisition a = acquisitions.get(write);
        if (a == null) {
            out.say("failed " + id + " no such acquire");
            return;
        }
        acquisitions.put(id, a); // the read hold is released by its own id, on the same thread
        a.downgrade(id, write);
    }

    /** Removes the ended acquisition of an acquire, and with it its downgrades. */
    private void forget(long id) {
        Acquisition a = acquisitions.get(id);
        acquisitions.values().removeIf(other -> other == a);
    }

    /** Closing asks a server and may take a while, so it has a thread of its own. */
    private void close(long id) {
        Thread t = new Thread(() -> {
            end(id);
            out.say("closed " + id);
        }, "close " + id);
        t.setDaemon(true);
        t.start();
    }

    /** Ends a session and its acquisitions, unless it has been ended before. */
    private void end(long id) {
        Session s = sessions.remove(id);
        if (s == null) {
            return;
        }
        s.close();
        for (Acquisition a : acquisitions.values()) {
            if (a.session() == s) {
                a.abandon();
            }
        }
    }
}
