package locklab.curator;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CountDownLatch;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderLatchListener;
import org.apache.curator.framework.recipes.leader.LeaderSelector;
import org.apache.curator.framework.recipes.leader.LeaderSelectorListenerAdapter;
import org.apache.curator.retry.RetryOneTime;

/**
 * A candidate of Curator's elections, which the lock protocol does not have. It says when it leads,
 * and who leads when it is asked, until it is told to resign.
 */
public final class Election {
    private final Output out = new Output(System.out);

    private Election() {}

    public static void main(String[] args) throws Exception {
        if (args.length != 4 || !args[0].equals("latch") && !args[0].equals("selector")) {
            System.err.println("usage: Election latch|selector SERVERS PATH ID");
            System.exit(2);
        }
        try (CuratorFramework client = CuratorFrameworkFactory.newClient(args[1], new RetryOneTime(100))) {
            client.start();
            if (args[0].equals("latch")) {
                new Election().latch(client, args[2], args[3]);
            } else {
                new Election().selector(client, args[2], args[3]);
            }
        }
        System.exit(0); // Curator may have left threads
    }

    private void latch(CuratorFramework client, String path, String id) throws Exception {
        try (LeaderLatch latch = new LeaderLatch(client, path, id)) {
            latch.addListener(new LeaderLatchListener() {
                @Override
                public void isLeader() {
                    out.say("leads");
                }

                @Override
                public void notLeader() {}
            });
            latch.start();
            answer(() -> latch.getLeader().getId());
        }
    }

    private void selector(CuratorFramework client, String path, String id) throws Exception {
        CountDownLatch over = new CountDownLatch(1);
        CountDownLatch resigned = new CountDownLatch(1);
        LeaderSelector selector = new LeaderSelector(client, path, new LeaderSelectorListenerAdapter() {
            @Override
            public void takeLeadership(CuratorFramework c) throws Exception {
                out.say("leads");
                over.await();
                resigned.countDown();
            }
        });
        selector.setId(id);
        selector.start();
        answer(() -> selector.getLeader().getId());
        over.countDown();
        resigned.await();
        selector.close();
    }

    private interface Question {
        String ask() throws Exception;
    }

    /** Answers who leads, until it is told to resign. */
    private void answer(Question who) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null && !line.equals("resign"); line = in.readLine()) {
            out.say(who.ask());
        }
    }
}
