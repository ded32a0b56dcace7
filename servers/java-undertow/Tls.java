import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;

/** TLS from the PEM files of a certificate chain and its key, without a keystore on disk. */
class Tls {
    static final String PASSWORD = "memory";  // of a keystore that is never written

    static KeyStore keyStore(String cert, String key) throws GeneralSecurityException, IOException {
        Certificate[] chain;
        try (var file = Files.newInputStream(Path.of(cert))) {
            chain = CertificateFactory.getInstance("X.509").generateCertificates(file).toArray(Certificate[]::new);
        }
        var base64 = Files.readString(Path.of(key)).replaceAll("-----.+-----", "");
        var secret = KeyFactory.getInstance(chain[0].getPublicKey().getAlgorithm())
            .generatePrivate(new PKCS8EncodedKeySpec(Base64.getMimeDecoder().decode(base64)));
        var store = KeyStore.getInstance("PKCS12");
        store.load(null, null);
        store.setKeyEntry("server", secret, PASSWORD.toCharArray(), chain);
        return store;
    }

    static SSLContext context(String cert, String key) throws GeneralSecurityException, IOException {
        var keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        keys.init(keyStore(cert, key), PASSWORD.toCharArray());
        var context = SSLContext.getInstance("TLS");
        context.init(keys.getKeyManagers(), null, null);
        return context;
    }
}
