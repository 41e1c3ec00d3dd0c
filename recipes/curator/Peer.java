package locklab.curator;

import java.util.Arrays;
import java.util.stream.Collectors;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMultiLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreMutex;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;

/** The recipes, by the names that scenarios use. */
enum Peer {
    MUTEX {
        @Override
        PeerLock lock(Session s, String path, String mode) {
            only(mode, "exclusive");
            return new OwnedLock(s.client(), s.shared(path, c -> new InterProcessMutex(c, path)), Nodes::ofMutex);
        }
    },
    SEMAPHORE_MUTEX {
        @Override
        PeerLock lock(Session s, String path, String mode) {
            only(mode, "exclusive");
            return new OwnedLock(s.client(), s.shared(path, c -> new InterProcessSemaphoreMutex(c, path)), l -> Nodes.ofLease(path, l));
        }
    },
    RW {
        @Override
        PeerLock lock(Session s, String path, String mode) {
            only(mode, "read", "write", "exclusive");
            InterProcessReadWriteLock lock = s.shared(path, c -> new InterProcessReadWriteLock(c, path));
            return mode.equals("read") ? new OwnedLock(s.client(), lock.readLock(), Nodes::ofMutex) : OwnedLock.writing(s.client(), lock, Nodes::ofMutex);
        }
    },
    MULTI {
        @Override
        PeerLock lock(Session s, String path, String mode) {
            only(mode, "exclusive");
            InterProcessLock[] parts = Arrays.stream(path.split(","))
                    .map(p -> s.<InterProcessLock>shared(p, c -> new InterProcessMutex(c, p)))
                    .toArray(InterProcessLock[]::new);
            return new OwnedLock(s.client(), new InterProcessMultiLock(Arrays.asList(parts)), Nodes::ofMutex, parts);
        }
    },
    SEMAPHORE {
        @Override
        PeerLock lock(Session s, String path, String mode) {
            String permits = mode.equals("exclusive") ? "permits:1/1" : mode;
            if (!permits.matches("permits:[0-9]{1,9}/[0-9]{1,9}")) {
                throw new IllegalArgumentException("no mode of a semaphore: " + mode);
            }
            String[] n = permits.substring("permits:".length()).split("/");
            int most = Integer.parseInt(n[1]);
            return new Permits(s.shared(path + " " + most, c -> new InterProcessSemaphoreV2(c, path, most)), Integer.parseInt(n[0]));
        }
    };

    /** The lock that an acquire names. Throws IllegalArgumentException if the recipe has no such lock. */
    abstract PeerLock lock(Session s, String path, String mode);

    String recipe() {
        return "curator-" + name().toLowerCase().replace('_', '-');
    }

    static Peer named(String recipe) {
        return Arrays.stream(values()).filter(p -> p.recipe().equals(recipe)).findFirst().orElse(null);
    }

    static String names() {
        return Arrays.stream(values()).map(Peer::recipe).collect(Collectors.joining(", "));
    }

    private static void only(String mode, String... known) {
        if (!Arrays.asList(known).contains(mode)) {
            throw new IllegalArgumentException("no mode of this recipe: " + mode);
        }
    }
}
