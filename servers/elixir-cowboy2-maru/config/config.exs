import Config

config :logger, level: :warn

config :hello, Hello.Server,
  adapter: Plug.Cowboy,
  plug: Hello.API,
  scheme: :http
