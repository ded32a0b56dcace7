require "async"
require "async/http/server"
require "async/http/endpoint"
require "async/io/shared_endpoint"
require "protocol/http/response"
require "time"

def tls
  context = OpenSSL::SSL::SSLContext.new
  context.add_certificate(
    OpenSSL::X509::Certificate.new(File.read(ENV["CERT"])), OpenSSL::PKey.read(File.read(ENV["KEY"]))
  )
  context.alpn_select_cb = ->(offered) { (Async::HTTP::Protocol::HTTPS.names & offered).first }
  context
end

host, port, workers = ARGV
endpoint =
  if ENV["CERT"]
    Async::HTTP::Endpoint.parse("https://#{host}:#{port}", ssl_context: tls)
  elsif ENV["HTTP2"]
    Async::HTTP::Endpoint.parse("http://#{host}:#{port}", protocol: Async::HTTP::Protocol::HTTP2)
  else
    Async::HTTP::Endpoint.parse("http://#{host}:#{port}")
  end
shared = Async { Async::IO::SharedEndpoint.bound(endpoint, backlog: 4096) }.wait

app = lambda do |request|
  if request.method == "GET" && request.path == "/"
    headers = { "content-type" => "text/plain" }
    headers["date"] = Time.now.httpdate if ENV["DATE"]
    Protocol::HTTP::Response[200, headers, ["Hello, World!"]]
  else
    Protocol::HTTP::Response[404, {}, []]
  end
end

pids = (1...workers.to_i).map { fork } # a child's list ends in nil
at_exit { pids.each { |pid| Process.kill(:TERM, pid) } } unless pids.include?(nil)
trap(:TERM) { exit }
Async do
  Async::HTTP::Server.new(app, shared, protocol: endpoint.protocol, scheme: endpoint.scheme).run
end
