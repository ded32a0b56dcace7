require "rails"
require "action_controller/railtie"
require "active_record/railtie"
require "time"
require "zlib"

NOTES = ["plain", '<script>alert("x")</script>', "fish & chips", %q(it's "quoted"), "a < b > c"]
TEXT = "Packed by hand on the day it came in, checked twice, and sent with the early van. " \
  "Leave it with a neighbor if nobody is at home, and ring the old bell before you go; " \
  "the gate sticks in wet weather. Keep it dry and upright, and return the empty box."
ROWS = (1..200).map { |n| { number: n, name: "Item #{n}", note: NOTES[n % 5], text: TEXT } }

class HelloApp < Rails::Application
  config.load_defaults 6.1
  config.api_only = true
  config.cache_classes = true
  config.eager_load = true
  config.logger = Logger.new(nil)
  config.secret_key_base = "required in production; nothing is signed here"
  routes.append do
    root to: "hello#index"
    get "wait", to: "hello#wait"
    get "json", to: "hello#account"
    post "echo", to: "hello#echo"
    get "page", to: "orders#index"
    post "upload", to: "hello#upload"
    get "db", to: "items#show"
    ["users", *(1..99).map { |n| "resource#{n}" }].each do |collection|
      get "#{collection}/:id/orders/:order", to: "hello#order", defaults: { collection: collection }
    end
  end
end

class Item < ActiveRecord::Base
  self.table_name = "item"
end

class HelloController < ActionController::API
  def index = render(plain: "Hello, World!")

  def wait
    sleep 0.01
    render plain: "waited"
  end

  def account
    render json: {
      id: 4711, name: "Ada Example", email: "ada@example.org", city: "Z\u00fcrich",
      active: true, balance: 1250.75, note: nil, created: "2026-11-22T10:30:00Z",
      items: (1..10).map { |n| { id: n, name: "Item #{n}", price: n + 0.25 } }
    }
  end

  def echo = render(json: request.request_parameters.merge(seen: true))

  def upload
    length = checksum = 0
    while (piece = request.body.read(65_536))
      length += piece.bytesize
      checksum = Zlib.crc32(piece, checksum)
    end
    render plain: format("%d %08x", length, checksum)
  end

  def order = render(plain: params.values_at(:collection, :id, :order, :page).join(" "))
end

class ItemsController < ActionController::API
  def show
    id = Integer(params[:id], exception: false)
    return head(:bad_request) unless id

    item = Item.find_by(id: id)
    item ? render(json: item) : head(:not_found)
  end
end

class OrdersController < ActionController::Base
  def index
    @rows = ROWS
  end
end

class DateHeader
  def initialize(app)
    @app = app
  end

  def call(env)
    @app.call(env).tap { |_, headers, _| headers["Date"] = Time.now.httpdate }
  end
end

HelloApp.initialize!
use Rack::ContentLength # without it, puma sends chunks and unicorn a body without an end
use DateHeader if ENV["DATE"]
run HelloApp
