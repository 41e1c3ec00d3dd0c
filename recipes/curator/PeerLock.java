package locklab.curator;

import java.util.concurrent.TimeUnit;

/** A lock of Curator's, as one thread acquires and releases it. */
interface PeerLock {
    boolean acquire(long time, TimeUnit unit) throws Exception;

    /** The token of what this thread has acquired, as the protocol writes it. */
    String token() throws Exception;

    void release() throws Exception;

    /** The lock to read, of which this is the one to write; null if it is not such a lock. */
    default PeerLock readSide() {
        return null;
    }
}
