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
import org.eclipse.jetty.alpn.server.ALPNServerConnectionFactory;
import org.eclipse.jetty.http2.server.HTTP2CServerConnectionFactory;
import org.eclipse.jetty.http2.server.HTTP2ServerConnectionFactory;
import org.eclipse.jetty.server.ConnectionFactory;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.SecureRequestCustomizer;
import org.eclipse.jetty.server.SslConnectionFactory;
import org.eclipse.jetty.util.ssl.SslContextFactory;

/** What the environment asks for: with or without TLS, HTTP/1.1 or HTTP/2. */
class Transport {
    private static final String PASSWORD = "memory";  // of a keystore that is never written

    /** From the PEM files of a certificate chain and its key. */
    private static KeyStore keyStore(String cert, String key) throws GeneralSecurityException, IOException {
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

    static ConnectionFactory[] protocols() throws GeneralSecurityException, IOException {
        var cert = System.getenv("CERT");
        var http2 = System.getenv("HTTP2") != null;
        var settings = new HttpConfiguration();
        var http1 = new HttpConnectionFactory(settings);
        if (cert == null) {
            return http2
                ? new ConnectionFactory[] {http1, new HTTP2CServerConnectionFactory(settings)}
                : new ConnectionFactory[] {http1};
        }
        settings.addCustomizer(new SecureRequestCustomizer());
        var tls = new SslContextFactory.Server();
        tls.setKeyStore(keyStore(cert, System.getenv("KEY")));
        tls.setKeyStorePassword(PASSWORD);
        if (!http2) {
            return new ConnectionFactory[] {new SslConnectionFactory(tls, http1.getProtocol()), http1};
        }
        var alpn = new ALPNServerConnectionFactory();
        alpn.setDefaultProtocol(http1.getProtocol());
        return new ConnectionFactory[] {
            new SslConnectionFactory(tls, alpn.getProtocol()), alpn,
            new HTTP2ServerConnectionFactory(settings), http1,
        };
    }
}
