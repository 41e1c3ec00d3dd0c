package locklab.curator;

import java.util.concurrent.CountDownLatch;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.Revoker;
import org.apache.curator.retry.RetryOneTime;

/**
 * Both sides of Curator's revocation, which the lock protocol does not have: a client that asks for
 * a lock, and the holder that obeys.
 */
public final class Revocation {
    private Revocation() {}

    public static void main(String[] args) throws Exception {
        if (args.length != 3 || !args[0].equals("ask") && !args[0].equals("heed")) {
            System.err.println("usage: Revocation ask|heed SERVERS PATH, of a participant or of the lock");
            System.exit(2);
        }
        try (CuratorFramework client = CuratorFrameworkFactory.newClient(args[1], new RetryOneTime(100))) {
            client.start();
            if (args[0].equals("ask")) {
                Revoker.attemptRevoke(client, args[2]);
            } else {
                heed(new InterProcessMutex(client, args[2]));
            }
        }
        System.exit(0); // Curator may have left threads
    }

    /** Holds the lock until somebody asks for it. */
    private static void heed(InterProcessMutex lock) throws Exception {
        CountDownLatch asked = new CountDownLatch(1);
        lock.makeRevocable(l -> asked.countDown());
        lock.acquire();
        System.out.println("held");
        asked.await();
        System.out.println("asked");
        lock.release();
    }
}
