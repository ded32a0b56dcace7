import java.io.File
import java.security.KeyFactory
import java.security.KeyStore
import java.security.cert.CertificateFactory
import java.security.spec.PKCS8EncodedKeySpec
import java.util.Base64

/** A keystore from the PEM files of a certificate chain and its key, in memory alone. */
fun keyStore(cert: String, key: String, alias: String, password: CharArray): KeyStore {
    val chain = File(cert).inputStream().use { CertificateFactory.getInstance("X.509").generateCertificates(it) }
    val base64 = File(key).readText().replace(Regex("-----.+-----"), "")
    val secret = KeyFactory.getInstance(chain.first().publicKey.algorithm)
        .generatePrivate(PKCS8EncodedKeySpec(Base64.getMimeDecoder().decode(base64)))
    val store = KeyStore.getInstance("PKCS12")
    store.load(null, null)
    store.setKeyEntry(alias, secret, password, chain.toTypedArray())
    return store
}
