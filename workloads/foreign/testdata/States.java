import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderSelector;
import org.apache.curator.framework.recipes.leader.LeaderSelectorListenerAdapter;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.ExponentialBackoffRetry;

/**
 * A client of Curator's that says which states of its connection it is told of, and what its lock or
 * its election says of itself when it is asked. It does nothing about either.
 */
public final class States {
    private interface Step {
        String take() throws Exception;
    }

    private final ExecutorService owner = Executors.newSingleThreadExecutor(); // a lock belongs to a thread
    private final CuratorFramework client;

    private States(CuratorFramework client) {
        this.client = client;
    }

    public static void main(String[] args) throws Exception {
        if (args.length != 5) {
            System.err.println("usage: States mutex|latch|selector SERVERS PATH SESSION_MS CONNECTION_MS");
            System.exit(2);
        }
        CuratorFramework client = CuratorFrameworkFactory.newClient(
                args[1], Integer.parseInt(args[3]), Integer.parseInt(args[4]), new ExponentialBackoffRetry(100, 10, 1000));
        client.getConnectionStateListenable().addListener((c, state) -> say("state " + state));
        client.start();
        States states = new States(client);
        switch (args[0]) {
            case "InterProcessMutex":
                states.mutex(args[2]);
                break;
            case "LeaderLatch":
                states.latch(args[2]);
                break;
            default:
                states.selector(args[2]);
        }
        System.exit(0); // the connection breaks, and the session stays
    }

    private static synchronized void say(String line) {
        System.out.println(line);
        System.out.flush();
    }

    private static void say(String what, Step step) {
        String answer;
        try {
            answer = step.take();
        } catch (Throwable e) {
            answer = e.getClass().getSimpleName() + ": " + e.getMessage();
        }
        say(what + " " + answer);
    }

    private void mutex(String path) throws Exception {
        InterProcessMutex lock = new InterProcessMutex(client, path);
        for (String line = next(); line != null; line = next()) {
            switch (line) {
                case "acquire":
                    owner.submit(() -> say("acquire", () -> {
                        lock.acquire();
                        return "ok";
                    }));
                    break;
                case "release":
                    owner.submit(() -> say("release", () -> {
                        lock.release();
                        return "ok";
                    }));
                    break;
                default:
                    say(line, () -> "" + lock.isAcquiredInThisProcess());
            }
        }
    }

    private void latch(String path) throws Exception {
        LeaderLatch latch = new LeaderLatch(client, path);
        latch.start();
        for (String line = next(); line != null; line = next()) {
            switch (line) {
                case "acquire":
                    owner.submit(() -> say("acquire", () -> {
                        latch.await();
                        return "ok";
                    }));
                    break;
                default:
                    say(line, () -> "" + latch.hasLeadership());
            }
        }
    }

    private void selector(String path) throws Exception {
        LeaderSelector selector = new LeaderSelector(client, path, new LeaderSelectorListenerAdapter() {
            @Override
            public void takeLeadership(CuratorFramework c) throws Exception {
                say("acquire ok");
                try {
                    new CountDownLatch(1).await();
                } catch (InterruptedException e) {
                    say("state takeLeadership interrupted");
                    throw e;
                }
            }
        });
        for (String line = next(); line != null; line = next()) {
            switch (line) {
                case "acquire":
                    selector.start();
                    break;
                case "requeue":
                    say(line, () -> "" + selector.requeue());
                    break;
                default:
                    say(line, () -> "" + selector.hasLeadership());
            }
        }
    }

    private final BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));

    private String next() throws Exception {
        return in.readLine();
    }
}
