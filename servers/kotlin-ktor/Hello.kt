import io.ktor.http.toHttpDate
import io.ktor.serialization.kotlinx.json.json
import io.ktor.server.application.ApplicationCall
import io.ktor.server.application.createApplicationPlugin
import io.ktor.server.application.install
import io.ktor.server.engine.connector
import io.ktor.server.engine.embeddedServer
import io.ktor.server.engine.sslConnector
import io.ktor.server.html.respondHtml
import io.ktor.server.netty.Netty
import io.ktor.server.plugins.contentnegotiation.ContentNegotiation
import io.ktor.server.request.contentLength
import io.ktor.server.request.receive
import io.ktor.server.request.receiveChannel
import io.ktor.server.response.respond
import io.ktor.server.response.respondText
import io.ktor.server.routing.get
import io.ktor.server.routing.post
import io.ktor.server.routing.routing
import io.ktor.util.date.GMTDate
import io.ktor.utils.io.ByteReadChannel
import io.ktor.utils.io.readAvailable
import io.netty.channel.ChannelOption
import java.util.zip.CRC32
import kotlinx.coroutines.delay

val date = createApplicationPlugin("date") {
    onCall { call -> call.response.headers.append("Date", GMTDate().toHttpDate()) }
}

suspend fun ApplicationCall.upload() {
    // Over HTTP/2, Ktor waits for ever for a body that the request's head has ended.
    val body = if (request.contentLength() == 0L) ByteReadChannel.Empty else receiveChannel()
    val checksum = CRC32()
    val piece = ByteArray(65536)
    var length = 0L
    while (true) {
        val size = body.readAvailable(piece)
        if (size < 0) break
        checksum.update(piece, 0, size)
        length += size
    }
    respondText("%d %08x".format(length, checksum.value))
}

fun main(args: Array<String>) {
    val cert = System.getenv("CERT")
    val password = { "memory".toCharArray() }  // Ktor overwrites it
    embeddedServer(Netty, configure = {
        if (cert == null) {
            connector {
                host = args[0]
                port = args[1].toInt()
            }
        } else {
            val store = keyStore(cert, System.getenv("KEY"), "server", password())
            sslConnector(store, "server", password, password) {
                host = args[0]
                port = args[1].toInt()
            }
        }
        enableHttp2 = System.getenv("HTTP2") != null
        enableH2c = enableHttp2 && cert == null
        connectionGroupSize = 1
        workerGroupSize = args[2].toInt()
        callGroupSize = args[2].toInt()
        configureBootstrap = { option(ChannelOption.SO_BACKLOG, 4096) }
    }) {
        install(ContentNegotiation) { json() }
        if (System.getenv("DATE") != null) install(date)
        routing {
            get("/") { call.respondText("Hello, World!") }
            get("/wait") {
                delay(10)
                call.respondText("waited")
            }
            get("/json") { call.respond(account()) }
            get("/page") { call.respondHtml { page(ROWS) } }
            post("/echo") { call.respond(call.receive<Message>().copy(seen = true)) }
            post("/upload") { call.upload() }
            for (n in 0..99) {
                val collection = if (n == 0) "users" else "resource$n"
                get("/$collection/{id}/orders/{order}") {
                    val id = call.pathParameters["id"]
                    val order = call.pathParameters["order"]
                    val page = call.queryParameters["page"].orEmpty()
                    call.respondText("$collection $id $order $page")
                }
            }
        }
    }.start(wait = true)
}
