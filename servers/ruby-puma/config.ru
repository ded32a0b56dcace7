require "erb"
require "json"
require "rack/utils"
require "time"
require "zlib"

NOTES = ["plain", '<script>alert("x")</script>', "fish & chips", %q(it's "quoted"), "a < b > c"]
TEXT = "Packed by hand on the day it came in, checked twice, and sent with the early van. " \
  "Leave it with a neighbor if nobody is at home, and ring the old bell before you go; " \
  "the gate sticks in wet weather. Keep it dry and upright, and return the empty box."
ROWS = (1..200).map { |n| { number: n, name: "Item #{n}", note: NOTES[n % 5], text: TEXT } }
COLLECTIONS = ["users", *(1..99).map { |n| "resource#{n}" }].to_set # Rack has no router
ORDER = %r{\A/([^/]+)/([^/]+)/orders/([^/]+)\z}

class Page
  include ERB::Util

  template = File.expand_path("page.erb", __dir__)
  ERB.new(File.read(template), trim_mode: "-").def_method(self, "render(rows)", template)
end

def account
  {
    id: 4711, name: "Ada Example", email: "ada@example.org", city: "Z\u00fcrich",
    active: true, balance: 1250.75, note: nil, created: "2026-11-22T10:30:00Z",
    items: (1..10).map { |n| { id: n, name: "Item #{n}", price: n + 0.25 } }
  }
end

def answer(body, type = "text/plain")
  [200, { "Content-Type" => type, "Content-Length" => body.bytesize.to_s }, [body]]
end

def refuse(status) = [status, { "Content-Length" => "0" }, []]

def echo(body)
  message = JSON.parse(body.read)
  message["seen"] = true
  answer(message.to_json, "application/json")
rescue JSON::ParserError
  refuse(400)
end

def upload(body)
  length = checksum = 0
  while (piece = body.read(65_536))
    length += piece.bytesize
    checksum = Zlib.crc32(piece, checksum)
  end
  answer(format("%d %08x", length, checksum))
end

def order(env)
  collection, *values = ORDER.match(env["PATH_INFO"])&.captures
  return refuse(404) unless env["REQUEST_METHOD"] == "GET" && COLLECTIONS.include?(collection)

  page = Rack::Utils.parse_query(env["QUERY_STRING"])["page"]
  answer([collection, *values.map { |value| Rack::Utils.unescape_path(value) }, page].join(" "))
end

class DateHeader
  def initialize(app)
    @app = app
  end

  def call(env)
    @app.call(env).tap { |_, headers, _| headers["Date"] = Time.now.httpdate }
  end
end

hello = lambda do |env|
  case [env["REQUEST_METHOD"], env["PATH_INFO"]]
  in ["GET", "/"]
    [200, { "Content-Type" => "text/plain", "Content-Length" => "13" }, ["Hello, World!"]]
  in ["GET", "/wait"]
    sleep 0.01
    answer("waited")
  in ["GET", "/json"] then answer(account.to_json, "application/json")
  in ["GET", "/page"] then answer(Page.new.render(ROWS), "text/html; charset=utf-8")
  in ["POST", "/echo"] then echo(env["rack.input"])
  in ["POST", "/upload"] then upload(env["rack.input"])
  else order(env)
  end
end

use DateHeader if ENV["DATE"]
run hello
