import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.List;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509TrustManager;

/**
 * Peer keystore|default|shared MODE N ROOT LEAF: what a client with trust in javax.net.ssl.trustStore costs. What it
 * prints: bench/peers/README.md. `Peer store BUNDLE OUT TYPE` makes the trust store from a bundle.
 */
public class Peer {
    static final char[] PASSWORD = "changeit".toCharArray();
    static X509TrustManager ofShared;
    static X509Certificate[] leaf;

    record Client(SSLContext context, X509TrustManager trust) {}

    interface Maker {
        Client make() throws Exception;
    }

    /** What programs do that bring a trust store of their own. */
    static Client keystore() throws Exception {
        KeyStore store = KeyStore.getInstance(System.getProperty("javax.net.ssl.trustStoreType"));
        try (InputStream file = new FileInputStream(System.getProperty("javax.net.ssl.trustStore"))) {
            store.load(file, PASSWORD);
        }
        return client(store);
    }

    /** Java's own trust, which it keeps as long as somebody uses it. */
    static Client ofDefault() throws Exception {
        return client(null);
    }

    static Client client(KeyStore store) throws Exception {
        TrustManagerFactory factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        factory.init(store);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, factory.getTrustManagers(), null);
        return new Client(context, trust(factory));
    }

    static X509TrustManager trust(TrustManagerFactory factory) {
        for (TrustManager manager : factory.getTrustManagers()) {
            if (manager instanceof X509TrustManager) return (X509TrustManager) manager;
        }
        throw new IllegalStateException("no X509TrustManager");
    }

    /** One context for the whole process. */
    static Client shared() throws Exception {
        return new Client(SSLContext.getDefault(), ofShared);
    }

    static void verify(Client client) throws Exception {
        client.trust().checkServerTrusted(leaf, "ECDHE_ECDSA");
    }

    static double turns(Maker maker, int count, boolean verifying) throws Exception {
        double before = cpu();
        for (int turn = 0; turn < count; turn++) {
            Client client = maker.make();
            if (verifying) verify(client);
        }
        return (cpu() - before) / count;
    }

    /** Milliseconds of processor time of all threads, the compiler's and the collector's too; in steps of 10. */
    static double cpu() {
        var system = (com.sun.management.OperatingSystemMXBean)
            java.lang.management.ManagementFactory.getOperatingSystemMXBean();
        return system.getProcessCpuTime() / 1e6;
    }

    static double liveKiB() {
        for (int turn = 0; turn < 3; turn++) System.gc();
        Runtime runtime = Runtime.getRuntime();
        return (runtime.totalMemory() - runtime.freeMemory()) / 1024.0;
    }

    static void makeStore(String bundle, String out, String type) throws Exception {
        KeyStore store = KeyStore.getInstance(type);
        store.load(null, PASSWORD);
        try (InputStream file = new FileInputStream(bundle); FileOutputStream made = new FileOutputStream(out)) {
            int number = 0;
            for (Certificate root : CertificateFactory.getInstance("X.509").generateCertificates(file)) {
                store.setCertificateEntry("root-" + number++, root);
            }
            store.store(made, PASSWORD);
        }
    }

    public static void main(String[] words) throws Exception {
        if (words[0].equals("store")) {
            makeStore(words[1], words[2], words[3]);
            return;
        }
        Maker maker = words[0].equals("keystore") ? Peer::keystore
            : words[0].equals("default") ? Peer::ofDefault : Peer::shared;
        int count = Integer.parseInt(words[2]);
        cpu();
        if (words[1].equals("time")) {
            double first = turns(maker, 1, false), next = turns(maker, count, false);
            prepare(words);
            double verified = turns(maker, count, true);
            System.out.println("{\"first\": " + first + ", \"next\": " + next + ", \"verified\": " + verified + "}");
            return;
        }
        prepare(words);
        List<Client> kept = new ArrayList<>();
        double before = 0;
        for (int turn = 0; turn <= count; turn++) {
            Client client = maker.make();
            verify(client);
            kept.add(client);
            if (turn == 0) before = liveKiB();
        }
        System.out.println("{\"kib\": " + (liveKiB() - before) / count + "}");
        if (kept.size() != count + 1) throw new IllegalStateException();
    }

    static void prepare(String[] words) throws Exception {
        try (InputStream file = Files.newInputStream(Path.of(words[4]))) {
            CertificateFactory factory = CertificateFactory.getInstance("X.509");
            leaf = new X509Certificate[] {(X509Certificate) factory.generateCertificate(file)};
        }
        if (words[0].equals("shared")) {
            TrustManagerFactory factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
            factory.init((KeyStore) null);
            ofShared = trust(factory);
        }
    }
}
