import java.net.URI;
import javax.net.ssl.HttpsURLConnection;

/** Client URL: what the server sends. */
public class Client {
    public static void main(String[] arguments) throws Exception {
        HttpsURLConnection connection = (HttpsURLConnection) new URI(arguments[0]).toURL().openConnection();
        System.out.print(new String(connection.getInputStream().readAllBytes()));
    }
}
