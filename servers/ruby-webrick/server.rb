require "webrick"
require "webrick/https" if ENV["CERT"]

class Hello < WEBrick::HTTPServlet::AbstractServlet
  def do_GET(request, response)
    raise WEBrick::HTTPStatus::NotFound unless request.path == "/"

    response.content_type = "text/plain"
    response.body = "Hello, World!"
  end
end

def tls
  {
    SSLEnable: true,
    SSLCertificate: OpenSSL::X509::Certificate.new(File.read(ENV["CERT"])),
    SSLPrivateKey: OpenSSL::PKey.read(File.read(ENV["KEY"]))
  }
end

host, port, clients, nodelay = ARGV
server = WEBrick::HTTPServer.new(
  BindAddress: host,
  Port: Integer(port),
  MaxClients: Integer(clients),
  DoNotReverseLookup: true,
  AccessLog: [],
  Logger: WEBrick::Log.new($stderr, WEBrick::Log::WARN),
  AcceptCallback: ->(socket) { socket.setsockopt(:TCP, :NODELAY, true) if nodelay },
  **(ENV["CERT"] ? tls : {})
)
server.mount("/", Hello)
trap("TERM") { server.shutdown }
server.start
