package locklab.curator;

import java.util.concurrent.TimeUnit;

/** A lock of Curator's, as one thread acquires and releases it. */
interface PeerLock {
    boolean acquire(long time, TimeUnit unit) throws Exception;

    /** The token of what this thread has acquired, as the protocol writes it. */
    String token() throws Exception;

    void release() throws Exception;

    /** The read lock of the pair to which this write lock belongs; null for every other lock. */
    default PeerLock readSide() {
        return null;
    }
}
