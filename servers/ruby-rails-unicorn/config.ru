require "rails"
require "action_controller/railtie"

class HelloApp < Rails::Application
  config.load_defaults 6.1
  config.api_only = true
  config.eager_load = true
  config.logger = Logger.new(nil)
  config.secret_key_base = "required in production; nothing is signed here"
  routes.append { root to: "hello#index" }
end

class HelloController < ActionController::API
  def index = render(plain: "Hello, World!")
end

HelloApp.initialize!
use Rack::ContentLength # without it, puma sends chunks and unicorn a body without an end
run HelloApp
