defmodule Hello do
  use Application

  def start(_type, _args) do
    {:ok, ip} = :inet.parse_address(String.to_charlist(System.fetch_env!("HOST")))

    options = [
      ip: ip,
      port: number("PORT"),
      transport_options: [
        num_acceptors: 100,
        max_connections: number("MAX_CONNECTIONS"),
        socket_opts: [backlog: number("BACKLOG")]
      ],
      protocol_options: [max_keepalive: number("MAX_KEEPALIVE")]
    ]

    children = [{Plug.Cowboy, scheme: :http, plug: Hello.Router, options: options}]
    Supervisor.start_link(children, strategy: :one_for_one)
  end

  defp number(name), do: String.to_integer(System.fetch_env!(name))
end

defmodule Hello.Router do
  use Plug.Router

  plug :match
  plug :dispatch

  get "/" do
    conn
    |> put_resp_content_type("text/plain")
    |> send_resp(200, "Hello, World!")
  end

  match _ do
    send_resp(conn, 404, "")
  end
end
