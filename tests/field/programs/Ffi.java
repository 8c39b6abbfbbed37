import com.sun.jna.Library;
import com.sun.jna.Native;
import com.sun.jna.Pointer;

/** OpenSSL's functions by JNA. */
public class Ffi {
    public interface OpenSsl extends Library {
        Pointer TLS_client_method();
        Pointer SSL_CTX_new(Pointer method);
        int SSL_CTX_load_verify_locations(Pointer ctx, String file, String path);
        int SSL_CTX_set_default_verify_paths(Pointer ctx);
        Pointer SSL_CTX_get_cert_store(Pointer ctx);
        Pointer SSL_load_client_CA_file(String file);
        Pointer BIO_new_file(String file, String mode);
        Pointer PEM_read_bio_X509(Pointer bio, Pointer cert, Pointer callback, Pointer argument);
        Pointer X509_STORE_new();
        void X509_STORE_free(Pointer store);
        int X509_STORE_load_locations(Pointer store, String file, String path);
        int X509_STORE_add_cert(Pointer store, Pointer cert);
        Pointer X509_STORE_get1_all_certs(Pointer store);
        Pointer X509_STORE_CTX_new();
        int X509_STORE_CTX_init(Pointer ctx, Pointer store, Pointer cert, Pointer untrusted);
        int X509_verify_cert(Pointer ctx);
        int X509_STORE_CTX_get_error(Pointer ctx);
        int OPENSSL_sk_num(Pointer stack);
        Pointer OPENSSL_sk_new_null();
        int OPENSSL_sk_push(Pointer stack, Pointer item);
    }

    static final OpenSsl f = Native.load("libssl.so.3", OpenSsl.class);

    static String pathOf(String name) {
        return System.getenv("FIELD_" + name);
    }

    static Pointer certificate(String name) {
        return f.PEM_read_bio_X509(f.BIO_new_file(pathOf(name), "r"), null, null, null);
    }

    static void verify(String title, Pointer store, String name) {
        Pointer untrusted = f.OPENSSL_sk_new_null(), ctx = f.X509_STORE_CTX_new();
        f.OPENSSL_sk_push(untrusted, certificate("INTERMEDIATE"));
        int begun = f.X509_STORE_CTX_init(ctx, store, certificate(name), untrusted);
        System.out.println(title + " " + begun + " " + f.X509_verify_cert(ctx) + " " + f.X509_STORE_CTX_get_error(ctx));
    }

    static void use(Pointer store) {
        verify("good", store, "CHAIN");
        verify("untrusted", store, "UNTRUSTED");
        System.out.println("add " + f.X509_STORE_add_cert(store, certificate("TWIN")));
        verify("good again", store, "CHAIN");
        System.out.println("certificates " + f.OPENSSL_sk_num(f.X509_STORE_get1_all_certs(store)));
    }

    public static void main(String[] arguments) {
        for (int turn = 0; turn < 2; turn++) {
            Pointer ctx = f.SSL_CTX_new(f.TLS_client_method());
            System.out.println("context " + (turn == 0 ? f.SSL_CTX_set_default_verify_paths(ctx)
                : f.SSL_CTX_load_verify_locations(ctx, pathOf("BUNDLE"), null)));
            use(f.SSL_CTX_get_cert_store(ctx));
            Pointer store = f.X509_STORE_new();
            if (turn == 1)
                System.out.println("add " + f.X509_STORE_add_cert(store, certificate("TWIN")));
            System.out.println("store " + f.X509_STORE_load_locations(store, pathOf("BUNDLE"), null));
            use(store);
            f.X509_STORE_free(store);
        }
        System.out.println("names " + f.OPENSSL_sk_num(f.SSL_load_client_CA_file(pathOf("BUNDLE"))));
    }
}
