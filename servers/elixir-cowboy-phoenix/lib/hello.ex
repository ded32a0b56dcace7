defmodule Hello do
  use Application

  def start(_type, _args) do
    Supervisor.start_link([Hello.Endpoint], strategy: :one_for_one)
  end
end

defmodule Hello.Controller do
  use Phoenix.Controller, namespace: Hello

  def index(conn, _params), do: text(conn, "Hello, World!")
end

defmodule Hello.Router do
  use Phoenix.Router

  pipeline :plain do
    plug :accepts, ["text"]
  end

  scope "/" do
    pipe_through :plain
    get "/", Hello.Controller, :index
  end
end

defmodule Hello.ErrorView do
  def render(template, _assigns) do
    Phoenix.Controller.status_message_from_template(template)
  end
end

defmodule Hello.Endpoint do
  use Phoenix.Endpoint, otp_app: :hello

  plug Plug.Parsers, parsers: [:urlencoded, :multipart, :json], pass: ["*/*"], json_decoder: Poison
  plug Plug.MethodOverride
  plug Plug.Head
  plug Hello.Router

  def init(_key, config) do
    {:ok, ip} = :inet.parse_address(String.to_charlist(System.fetch_env!("HOST")))

    http = [
      ip: ip,
      port: number("PORT"),
      acceptors: 100,
      backlog: number("BACKLOG"),
      max_connections: number("MAX_CONNECTIONS"),
      protocol_options: [max_keepalive: number("MAX_KEEPALIVE")]
    ]

    {:ok, Keyword.put(config, :http, http)}
  end

  defp number(name), do: String.to_integer(System.fetch_env!(name))
end
