require "digest/crc32"
require "ecr"
require "html"
require "http/server"
require "json"
require "uri"

NOTES = ["plain", %(<script>alert("x")</script>), "fish & chips", %(it's "quoted"), "a < b > c"]
TEXT  = "Packed by hand on the day it came in, checked twice, and sent with the early van. " \
       "Leave it with a neighbor if nobody is at home, and ring the old bell before you go; " \
       "the gate sticks in wet weather. Keep it dry and upright, and return the empty box."

record Row, number : Int32, name : String, note : String, text : String

ROWS        = (1..200).map { |n| Row.new(n, "Item #{n}", NOTES[n % 5], TEXT) }
COLLECTIONS = Set{"users"}.concat((1..99).map { |n| "resource#{n}" }) # there is no router

class Page
  def initialize(@rows : Array(Row))
  end

  ECR.def_to_s "page.ecr"
end

def account
  {
    id: 4711, name: "Ada Example", email: "ada@example.org", city: "Zürich", active: true,
    balance: 1250.75, note: nil, created: "2026-11-22T10:30:00Z",
    items: (1..10).map { |n| {id: n, name: "Item #{n}", price: n + 0.25} },
  }
end

def answer(context, body, type = "text/plain")
  context.response.content_type = type
  context.response.print body
end

def echo(context)
  message = JSON.parse(context.request.body || "")
rescue JSON::ParseException
  context.response.respond_with_status(:bad_request)
else
  message.as_h["seen"] = JSON::Any.new(true)
  answer(context, message.to_json, "application/json")
end

def upload(context)
  length = 0
  checksum = Digest::CRC32.initial
  piece = Bytes.new(65_536)
  if body = context.request.body
    while (size = body.read(piece)) > 0
      length += size
      checksum = Digest::CRC32.update(piece[0, size], checksum)
    end
  end
  answer(context, "%d %08x" % {length, checksum})
end

# The answer to GET /COLLECTION/{id}/orders/{order}?page=N, or nil.
def order(request)
  parts = request.path.split('/')
  return unless request.method == "GET" && parts.size == 5 && parts[3] == "orders"
  return unless COLLECTIONS.includes?(parts[1])
  "#{parts[1]} #{URI.decode(parts[2])} #{URI.decode(parts[4])} #{request.query_params["page"]?}"
end

def handle(context)
  case {context.request.method, context.request.path}
  when {"GET", "/"}     then answer(context, "Hello, World!")
  when {"GET", "/json"} then answer(context, account.to_json, "application/json")
  when {"GET", "/page"} then answer(context, Page.new(ROWS), "text/html; charset=utf-8")
  when {"POST", "/echo"}   then echo(context)
  when {"POST", "/upload"} then upload(context)
  when {"GET", "/wait"}
    sleep 10.milliseconds
    answer(context, "waited")
  else
    if text = order(context.request)
      answer(context, text)
    else
      context.response.respond_with_status(:not_found)
    end
  end
end

host, port, workers = ARGV

if workers.to_i > 1 && !ENV["WORKER"]?
  program = Process.executable_path.not_nil!
  children = Array.new(workers.to_i) do
    Process.new(program, ARGV, env: {"WORKER" => "1"}, output: :inherit, error: :inherit)
  end
  Signal::TERM.trap { children.each &.signal(Signal::TERM); exit }
  children.each &.wait
else
  dated = ENV.has_key?("DATE")
  server = HTTP::Server.new do |context|
    context.response.headers["Date"] = HTTP.format_time(Time.utc) if dated
    handle(context)
  end
  if cert = ENV["CERT"]?
    tls = OpenSSL::SSL::Context::Server.new
    tls.certificate_chain = cert
    tls.private_key = ENV["KEY"]
    server.bind_tls host, port.to_i, tls, reuse_port: workers.to_i > 1
  else
    server.bind_tcp host, port.to_i, reuse_port: workers.to_i > 1
  end
  server.listen
end
