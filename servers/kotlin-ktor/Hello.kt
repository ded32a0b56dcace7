import io.ktor.server.engine.connector
import io.ktor.server.engine.embeddedServer
import io.ktor.server.netty.Netty
import io.ktor.server.response.respondText
import io.ktor.server.routing.get
import io.ktor.server.routing.routing
import io.netty.channel.ChannelOption

fun main(args: Array<String>) {
    embeddedServer(Netty, configure = {
        connector {
            host = args[0]
            port = args[1].toInt()
        }
        connectionGroupSize = 1
        workerGroupSize = args[2].toInt()
        callGroupSize = args[2].toInt()
        configureBootstrap = { option(ChannelOption.SO_BACKLOG, 4096) }
    }) {
        routing {
            get("/") { call.respondText("Hello, World!") }
        }
    }.start(wait = true)
}
