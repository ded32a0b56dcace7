import java.nio.file.{Files, Paths}
import java.security.{KeyFactory, KeyStore}
import java.security.cert.{Certificate, CertificateFactory}
import java.security.spec.PKCS8EncodedKeySpec
import java.util.Base64

import javax.net.ssl.{KeyManagerFactory, SSLContext}

/** TLS from the PEM files of a certificate chain and its key, without a keystore on disk. */
object Tls {
  def context(cert: String, key: String): SSLContext = {
    val file = Files.newInputStream(Paths.get(cert))
    val chain =
      try CertificateFactory.getInstance("X.509").generateCertificates(file).toArray(Array.empty[Certificate])
      finally file.close()
    val base64 = new String(Files.readAllBytes(Paths.get(key))).replaceAll("-----.+-----", "")
    val secret = KeyFactory
      .getInstance(chain.head.getPublicKey.getAlgorithm)
      .generatePrivate(new PKCS8EncodedKeySpec(Base64.getMimeDecoder.decode(base64)))
    val password = "memory".toCharArray
    val store = KeyStore.getInstance("PKCS12")
    store.load(null, null)
    store.setKeyEntry("server", secret, password, chain)
    val keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm)
    keys.init(store, password)
    val context = SSLContext.getInstance("TLS")
    context.init(keys.getKeyManagers, null, null)
    context
  }
}
