import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.URI;
import java.security.KeyStore;
import javax.net.ssl.HttpsURLConnection;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLHandshakeException;
import javax.net.ssl.TrustManagerFactory;

/** Fetches each URL that comes on standard input. "fresh": with a context of its own; "default": with the JVM's. */
public class Client {
    public static void main(String[] arguments) throws Exception {
        boolean fresh = arguments[0].equals("fresh");
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String url = lines.readLine(); url != null; url = lines.readLine()) {
            HttpsURLConnection connection = (HttpsURLConnection) new URI(url.trim()).toURL().openConnection();
            if (fresh) {
                KeyStore store = KeyStore.getInstance("PKCS11");
                store.load(null, null);
                TrustManagerFactory factory = TrustManagerFactory.getInstance("PKIX");
                factory.init(store);
                SSLContext context = SSLContext.getInstance("TLS");
                context.init(null, factory.getTrustManagers(), null);
                connection.setSSLSocketFactory(context.getSocketFactory());
            }
            connection.setRequestProperty("Connection", "close");
            try {
                System.out.println(connection.getResponseCode() == 200 ? "accepted" : "?");
            } catch (SSLHandshakeException refused) {
                System.out.println(refused.getMessage().contains("PKIX") ? "refused" : refused.getMessage());
            }
        }
    }
}
