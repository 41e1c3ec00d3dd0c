package locklab.curator;

import java.util.Collection;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;

/** Some permits of a semaphore. They have no order, so there is no token. */
final class Permits implements PeerLock {
    private final InterProcessSemaphoreV2 semaphore;
    private final int quantity;
    private Collection<Lease> leases;

    Permits(InterProcessSemaphoreV2 semaphore, int quantity) {
        this.semaphore = semaphore;
        this.quantity = quantity;
    }

    @Override
    public boolean acquire(long time, TimeUnit unit) throws Exception {
        leases = time == Long.MAX_VALUE ? semaphore.acquire(quantity) : semaphore.acquire(quantity, time, unit);
        return leases != null;
    }

    @Override
    public String token() {
        return "-";
    }

    @Override
    public void release() {
        semaphore.returnAll(leases);
    }
}
