package locklab.curator;

import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.apache.zookeeper.ZooKeeper;

/**
 * One client's CuratorFramework, which ends with its first ZooKeeper session. Left alone, Curator
 * would go on in a new session, and so would a thread that is acquiring a lock: its znode would stay
 * in the queue, and nobody would ever release it.
 */
final class Session {
    private final long id;
    private final Output out;
    private final CuratorFramework client;
    private final Map<String, Object> locks = new ConcurrentHashMap<>();
    private final Runnable ended;
    private boolean open;
    private boolean over;

    /** Runs ended, on a thread of its own, if the session ends before it is closed. */
    Session(long id, String servers, int timeoutMs, Output out, Runnable ended) {
        this.id = id;
        this.out = out;
        this.ended = ended;
        CuratorFrameworkFactory.Builder builder = CuratorFrameworkFactory.builder()
                .connectString(servers)
                .sessionTimeoutMs(timeoutMs)
                .connectionTimeoutMs(Math.max(timeoutMs, 1000))
                .retryPolicy(new ExponentialBackoffRetry(100, 10, 1000));
        String credential = System.getenv("LOCKLAB_CREDENTIAL");
        if (credential != null) {
            builder.authorization("digest", credential.getBytes(StandardCharsets.UTF_8)).aclProvider(new OwnAcl());
        }
        client = builder.build();
        client.getConnectionStateListenable().addListener((c, state) -> changed(state));
    }

    CuratorFramework client() {
        return client;
    }

    /** The one lock object of this session for a key. */
    @SuppressWarnings("unchecked")
    <T> T shared(String key, Function<CuratorFramework, T> make) {
        return (T) locks.computeIfAbsent(key, k -> make.apply(client));
    }

    void start() {
        client.start(); // tells changed once it is connected
    }

    private synchronized void changed(ConnectionState state) {
        if (over) {
            return;
        }
        switch (state) {
            case CONNECTED:
                opened();
                break;
            case RECONNECTED:
                if (open) {
                    out.say("connected " + id);
                } else {
                    opened();
                }
                break;
            case SUSPENDED:
                if (open) {
                    out.say("disconnected " + id);
                }
                break;
            case LOST:
                if (open) {
                    out.say("expired " + id + " Curator says LOST");
                    end();
                }
                break;
            default:
        }
    }

    private void opened() {
        try {
            ZooKeeper zk = client.getZookeeperClient().getZooKeeper();
            open = true;
            out.say(String.format("opened %d 0x%x %d", id, zk.getSessionId(), zk.getSessionTimeout()));
        } catch (Exception e) {
            out.say("failed " + id + " " + e);
            end();
        }
    }

    private void end() {
        over = true;
        Thread t = new Thread(ended, "end " + id);
        t.setDaemon(true);
        t.start();
    }

    void close() {
        synchronized (this) {
            over = true;
        }
        client.close();
    }
}
