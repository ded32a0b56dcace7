require "async"
require "async/http/server"
require "async/http/endpoint"
require "async/io/shared_endpoint"
require "protocol/http/response"

host, port, workers = ARGV
endpoint = Async::HTTP::Endpoint.parse("http://#{host}:#{port}")
shared = Async { Async::IO::SharedEndpoint.bound(endpoint, backlog: 4096) }.wait

app = lambda do |request|
  if request.method == "GET" && request.path == "/"
    Protocol::HTTP::Response[200, { "content-type" => "text/plain" }, ["Hello, World!"]]
  else
    Protocol::HTTP::Response[404, {}, []]
  end
end

pids = (1...workers.to_i).map { fork } # a child's list ends in nil
at_exit { pids.each { |pid| Process.kill(:TERM, pid) } } unless pids.include?(nil)
trap(:TERM) { exit }
Async do
  Async::HTTP::Server.new(app, shared, protocol: endpoint.protocol, scheme: "http").run
end
