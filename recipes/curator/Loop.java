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
import org.apache.curator.retry.ExponentialBackoffRetry;

/**
 * Curator's mutex at full speed: clients that acquire and release one lock in a closed loop, each
 * with a session of its own, without the lock protocol in between. The Go package benchpeers runs
 * this program and reads its record. Both programs have the same loop.
 */
public final class Loop {
    private static final int SETTING_UP = 64; // clients at a time
    private static final int FIRST_ROUNDS = 2; // of every client, before the process is ready

    private final String path;
    private volatile boolean ended;

    private Loop(String path) {
        this.path = path;
    }

    public static void main(String[] args) throws Exception {
        if (args.length < 4) {
            System.err.println("usage: Loop PATH CLIENTS SESSION_TIMEOUT_MS SERVER…");
            System.exit(2);
        }
        String[] servers = Arrays.copyOfRange(args, 3, args.length);
        new Loop(args[0]).run(Integer.parseInt(args[1]), Integer.parseInt(args[2]), servers);
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
        for (CuratorFramework c : clients) {
            Holds holds = new Holds();
            all.add(holds);
            threads.add(new Thread(() -> contend(new InterProcessMutex(c, path), holds, served)));
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

    private void contend(InterProcessMutex lock, Holds holds, CountDownLatch served) {
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
