package locklab.curator;

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreMutex;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.utils.ZKPaths;

/** Finds Curator's lock nodes, for which Curator has only a partial public interface. */
final class Nodes {
    private Nodes() {}

    /** The node of a mutex, or of a side of a read/write lock, that this thread holds. */
    static String ofMutex(InterProcessLock lock) throws Exception {
        Method path = InterProcessMutex.class.getDeclaredMethod("getLockPath"); // public from 5.5 on
        path.setAccessible(true);
        return (String) path.invoke(lock);
    }

    /** The lease of a semaphore mutex at a path. */
    static String ofLease(String path, InterProcessLock lock) throws Exception {
        Field lease = InterProcessSemaphoreMutex.class.getDeclaredField("lease");
        lease.setAccessible(true);
        Lease held = (Lease) lease.get(lock);
        return held == null ? null : ZKPaths.makePath(path, "leases", held.getNodeName());
    }
}
