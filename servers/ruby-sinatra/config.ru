require "sinatra/base"

class Hello < Sinatra::Base
  get "/" do
    content_type "text/plain"
    "Hello, World!"
  end
end

run Hello
