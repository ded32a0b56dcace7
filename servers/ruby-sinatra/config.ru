require "json"
require "sinatra/base"
require "time"
require "zlib"

NOTES = ["plain", '<script>alert("x")</script>', "fish & chips", %q(it's "quoted"), "a < b > c"]
TEXT = "Packed by hand on the day it came in, checked twice, and sent with the early van. " \
  "Leave it with a neighbor if nobody is at home, and ring the old bell before you go; " \
  "the gate sticks in wet weather. Keep it dry and upright, and return the empty box."
ROWS = (1..200).map { |n| { number: n, name: "Item #{n}", note: NOTES[n % 5], text: TEXT } }

class Hello < Sinatra::Base
  set :views, __dir__
  set :erb, escape_html: true

  def account
    {
      id: 4711, name: "Ada Example", email: "ada@example.org", city: "Z\u00fcrich",
      active: true, balance: 1250.75, note: nil, created: "2026-11-22T10:30:00Z",
      items: (1..10).map { |n| { id: n, name: "Item #{n}", price: n + 0.25 } }
    }
  end

  after { headers "Date" => Time.now.httpdate } if ENV["DATE"]

  get "/" do
    content_type "text/plain"
    "Hello, World!"
  end

  get "/wait" do
    sleep 0.01
    content_type "text/plain"
    "waited"
  end

  get "/json" do
    content_type :json
    account.to_json
  end

  post "/echo" do
    message = JSON.parse(request.body.read)
    message["seen"] = true
    content_type :json
    message.to_json
  rescue JSON::ParserError
    halt 400
  end

  get "/page" do
    erb :page, locals: { rows: ROWS }
  end

  post "/upload" do
    length = checksum = 0
    while (piece = request.body.read(65_536))
      length += piece.bytesize
      checksum = Zlib.crc32(piece, checksum)
    end
    content_type "text/plain"
    format("%d %08x", length, checksum)
  end

  ["users", *(1..99).map { |n| "resource#{n}" }].each do |collection|
    get "/#{collection}/:id/orders/:order" do
      content_type "text/plain"
      "#{collection} #{params[:id]} #{params[:order]} #{params[:page]}"
    end
  end
end

run Hello
