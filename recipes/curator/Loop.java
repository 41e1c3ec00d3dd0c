package locklab.curator;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.retry.ExponentialBackoffRetry;

/**
 * Curator's locks at full speed: clients that acquire and release a lock in a closed loop, each
 * with a session of its own, without the lock protocol in between. The Go package benchpeers runs
 * this program and reads its record. Both programs have the same loop.
 */
public final class Loop {
    private static final int SETTING_UP = 64; // clients at a time
    private static final int FIRST_ROUNDS = 2; // of every client, before the process is ready

    private static final int WRITE_EVERY = 4; // see the Go package
    private static final int PERMITS = 4;

    private final String kind;
    private final String path;
    private final int locks;
    private volatile boolean ended;

    private Loop(String kind, String path, int locks) {
        this.kind = kind;
        this.path = path;
        this.locks = locks;
    }

    public static void main(String[] args) throws Exception {
        if (args.length < 6) {
            System.err.println("usage: Loop LOCK PATH LOCKS CLIENTS SESSION_TIMEOUT_MS SERVER…");
            System.exit(2);
        }
        String[] servers = Arrays.copyOfRange(args, 5, args.length);
        new Loop(args[0], args[1], Integer.parseInt(args[2]))
                .run(Integer.parseInt(args[3]), Integer.parseInt(args[4]), servers);
        System.exit(0); // Curator may have left threads
    }

    private void run(int n, int timeoutMs, String[] servers) throws Exception {
        List<CuratorFramework> clients = new ArrayList<>();
        for (int i = 0; i < n; i++) {
            clients.add(CuratorFrameworkFactory.builder()
                    .connectString(servers[i % servers.length])
                    .sessionTimeoutMs(timeoutMs)
                    .connectionTimeoutMs(timeoutMs)
                    .retryPolicy(new ExponentialBackoffRetry(100, 10, 1000))
                    .build());
        }
        each(clients, c -> {
            c.start();
            if (!c.blockUntilConnected(timeoutMs, TimeUnit.MILLISECONDS)) {
                throw new IOException("not connected within the session timeout");
            }
        });
        CountDownLatch served = new CountDownLatch(n);
        List<Holds> all = new ArrayList<>();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < n; i++) {
            Holds holds = new Holds();
            all.add(holds);
            Contender contender = contender(clients.get(i), path + "/" + i % locks, i);
            threads.add(new Thread(() -> contend(contender, holds, served)));
        }
        threads.forEach(Thread::start);
        served.await();
        Files.createFile(Path.of("ready"));

        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        expect(in, "begin");
        String begin = usage();
        expect(in, "end");
        String end = usage();
        ended = true;
        for (Thread t : threads) {
            t.join();
        }
        each(clients, CuratorFramework::close);
        try (PrintWriter out = new PrintWriter("record")) {
            out.println(begin);
            out.println(end);
            all.forEach(h -> h.write(out));
            if (out.checkError()) {
                throw new IOException("cannot write the record");
            }
        }
    }

    private interface Contender {
        void acquire() throws Exception;

        void release() throws Exception;
    }

    private Contender contender(CuratorFramework c, String path, int i) {
        switch (kind) {
            case "mutex":
                return simple(new InterProcessMutex(c, path));
            case "rw":
                InterProcessReadWriteLock rw = new InterProcessReadWriteLock(c, path);
                Contender read = simple(rw.readLock());
                Contender write = simple(rw.writeLock());
                return new Contender() {
                    private int k = i;
                    private Contender held;

                    @Override
                    public void acquire() throws Exception {
                        held = k++ % WRITE_EVERY == 0 ? write : read;
                        held.acquire();
                    }

                    @Override
                    public void release() throws Exception {
                        held.release();
                    }
                };
            case "semaphore":
                InterProcessSemaphoreV2 semaphore = new InterProcessSemaphoreV2(c, path, PERMITS);
                return new Contender() {
                    private Lease lease;

                    @Override
                    public void acquire() throws Exception {
                        lease = semaphore.acquire();
                    }

                    @Override
                    public void release() {
                        semaphore.returnLease(lease);
                    }
                };
            default:
                throw new IllegalArgumentException("no such lock: " + kind);
        }
    }

    private static Contender simple(InterProcessMutex lock) {
        return new Contender() {
            @Override
            public void acquire() throws Exception {
                lock.acquire();
            }

            @Override
            public void release() throws Exception {
                lock.release();
            }
        };
    }

    private void contend(Contender lock, Holds holds, CountDownLatch served) {
        try {
            while (!ended) {
                long asked = System.nanoTime(); // CLOCK_MONOTONIC on Linux
                lock.acquire();
                long granted = System.nanoTime();
                lock.release();
                holds.add(asked, granted, System.nanoTime());
                if (holds.n == 3 * FIRST_ROUNDS) {
                    served.countDown();
                }
            }
        } catch (Exception e) {
            e.printStackTrace();
            System.exit(1); // a comparison that lacks a client is worthless
        }
    }

    /** The time, the CPU time of the process in ticks of 10 ms, and its resident memory in KiB. */
    private static String usage() throws IOException {
        long now = System.nanoTime();
        String stat = Files.readString(Path.of("/proc/self/stat"));
        String[] f = stat.substring(stat.lastIndexOf(')') + 2).split(" "); // from the third field on
        String resident = Files.readAllLines(Path.of("/proc/self/status")).stream()
                .filter(l -> l.startsWith("VmRSS:"))
                .map(l -> l.replaceAll("[^0-9]", ""))
                .findFirst()
                .orElseThrow();
        return now + " " + (Long.parseLong(f[11]) + Long.parseLong(f[12])) + " " + resident;
    }

    private static void expect(BufferedReader in, String word) throws IOException {
        String line = in.readLine();
        if (!word.equals(line)) {
            throw new IOException("expected " + word + ", got " + line);
        }
    }

    private interface Step {
        void on(CuratorFramework c) throws Exception;
    }

    private static void each(List<CuratorFramework> clients, Step step) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(SETTING_UP);
        List<Future<?>> steps = new ArrayList<>();
        for (CuratorFramework c : clients) {
            steps.add(pool.submit(() -> {
                step.on(c);
                return null;
            }));
        }
        for (Future<?> s : steps) {
            s.get();
        }
        pool.shutdown();
    }

    /** One client's holds, recorded at the lowest possible cost. */
    private static final class Holds {
        private long[] times = new long[3 * 1024];
        private int n;

        void add(long asked, long granted, long released) {
            if (n == times.length) {
                times = Arrays.copyOf(times, 2 * n);
            }
            times[n++] = asked;
            times[n++] = granted;
            times[n++] = released;
        }

        void write(PrintWriter out) {
            for (int i = 0; i < n; i += 3) {
                out.println(times[i] + " " + times[i + 1] + " " + times[i + 2]);
            }
        }
    }
}
