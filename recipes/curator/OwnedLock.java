package locklab.curator;

import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;

/** A lock of Curator's other than a semaphore. */
final class OwnedLock implements PeerLock {
    /** Finds the node by which a lock is held. */
    interface NodeOf {
        String path(InterProcessLock lock) throws Exception;
    }

    private final CuratorFramework client;
    private final InterProcessLock lock;
    private final InterProcessLock[] parts; // each has a node
    private final NodeOf node;
    private InterProcessLock readSide;

    OwnedLock(CuratorFramework client, InterProcessLock lock, NodeOf node, InterProcessLock... parts) {
        this.client = client;
        this.lock = lock;
        this.node = node;
        this.parts = parts.length > 0 ? parts : new InterProcessLock[] {lock};
    }

    /** A write lock, and the read lock that its holder can downgrade to. */
    static OwnedLock writing(CuratorFramework client, InterProcessReadWriteLock lock, NodeOf node) {
        OwnedLock l = new OwnedLock(client, lock.writeLock(), node);
        l.readSide = lock.readLock();
        return l;
    }

    @Override
    public PeerLock readSide() {
        return readSide == null ? null : new OwnedLock(client, readSide, node);
    }

    @Override
    public boolean acquire(long time, TimeUnit unit) throws Exception {
        if (time == Long.MAX_VALUE) {
            lock.acquire();
            return true;
        }
        return lock.acquire(time, unit);
    }

    @Override
    public String token() throws Exception {
        StringBuilder tokens = new StringBuilder();
        for (InterProcessLock part : parts) {
            String path = node.path(part);
            var stat = path == null ? null : client.checkExists().forPath(path);
            if (stat == null) {
                return "-"; // held, as Curator sees it, by a node that is gone
            }
            tokens.append(tokens.length() > 0 ? "," : "").append(stat.getCzxid());
        }
        return tokens.toString();
    }

    @Override
    public void release() throws Exception {
        lock.release();
    }
}
