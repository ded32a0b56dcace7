require "http/server"

host, port, workers = ARGV

if workers.to_i > 1 && !ENV["WORKER"]?
  program = Process.executable_path.not_nil!
  children = Array.new(workers.to_i) do
    Process.new(program, ARGV, env: {"WORKER" => "1"}, output: :inherit, error: :inherit)
  end
  Signal::TERM.trap { children.each &.signal(Signal::TERM); exit }
  children.each &.wait
else
  server = HTTP::Server.new do |context|
    if context.request.method == "GET" && context.request.path == "/"
      context.response.content_type = "text/plain"
      context.response.print "Hello, World!"
    else
      context.response.respond_with_status(:not_found)
    end
  end
  server.bind_tcp host, port.to_i, reuse_port: workers.to_i > 1
  server.listen
end
