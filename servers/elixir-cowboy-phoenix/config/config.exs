import Config

config :logger, level: :warn

config :hello, Hello.Endpoint,
  url: [host: "localhost"],
  secret_key_base: String.duplicate("no secret here: nothing is signed. ", 2),
  server: true
