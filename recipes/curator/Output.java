package locklab.curator;

import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/** Writes answers as whole lines, without a buffer. */
final class Output {
    private final PrintStream out;

    Output(PrintStream out) {
        this.out = out;
    }

    synchronized void say(String line) {
        byte[] b = (line.replace('\n', ' ').replace('\r', ' ') + "\n").getBytes(StandardCharsets.UTF_8);
        out.write(b, 0, b.length);
        out.flush();
    }
}
