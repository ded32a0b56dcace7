defmodule Hello do
  use Application

  def start(_type, _args) do
    Supervisor.start_link([Hello.Server], strategy: :one_for_one)
  end
end

defmodule Hello.Server do
  use Maru.Server, otp_app: :hello

  def init(_type, options) do
    {:ok, ip} = :inet.parse_address(String.to_charlist(System.fetch_env!("HOST")))

    listen = [
      ip: ip,
      port: number("PORT"),
      transport_options: [
        num_acceptors: 100,
        max_connections: number("MAX_CONNECTIONS"),
        socket_opts: [backlog: number("BACKLOG")]
      ],
      protocol_options: [max_keepalive: number("MAX_KEEPALIVE")]
    ]

    {:ok, Keyword.merge(options, listen)}
  end

  defp number(name), do: String.to_integer(System.fetch_env!(name))
end

defmodule Hello.Routes do
  use Hello.Server

  get do
    text(conn, "Hello, World!")
  end
end

defmodule Hello.API do
  use Hello.Server

  plug Plug.Parsers, pass: ["*/*"], json_decoder: Jason, parsers: [:urlencoded, :json, :multipart]

  mount Hello.Routes

  rescue_from Maru.Exceptions.NotFound do
    send_resp(conn, 404, "")
  end
end
