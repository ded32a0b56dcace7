defmodule Hello do
  use Application

  def start(_type, _args) do
    {:ok, ip} = :inet.parse_address(String.to_charlist(System.fetch_env!("HOST")))

    options = [
      plug: Hello.Router,
      ip: ip,
      port: String.to_integer(System.fetch_env!("PORT")),
      startup_log: false,
      thousand_island_options: [
        num_acceptors: 100,
        num_connections: :infinity,
        transport_options: [backlog: 4096]
      ]
    ]

    Supervisor.start_link([{Bandit, options}], strategy: :one_for_one)
  end
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
