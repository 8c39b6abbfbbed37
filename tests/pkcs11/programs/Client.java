import java.net.URI;
import java.security.KeyStore;
import java.security.Provider;
import java.security.Security;
import javax.net.ssl.HttpsURLConnection;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** Fetches a page, trusting what a PKCS#11 token trusts: Client CONFIG URL. */
public class Client {
    public static void main(String[] arguments) throws Exception {
        Provider provider = Security.getProvider("SunPKCS11").configure(arguments[0]);
        KeyStore store = KeyStore.getInstance("PKCS11", provider);
        store.load(null, null);
        System.out.println("entries " + store.size());
        TrustManagerFactory factory = TrustManagerFactory.getInstance("PKIX");
        factory.init(store);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, factory.getTrustManagers(), null);
        HttpsURLConnection connection = (HttpsURLConnection) new URI(arguments[1]).toURL().openConnection();
        connection.setSSLSocketFactory(context.getSocketFactory());
        try {
            System.out.println("status " + connection.getResponseCode());
        } catch (javax.net.ssl.SSLHandshakeException refused) {
            System.out.println("refused");
        }
    }
}
