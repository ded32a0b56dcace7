defmodule Hello do
  use Application

  def start(_type, _args) do
    {:ok, ip} = :inet.parse_address(String.to_charlist(System.fetch_env!("HOST")))
    routes = :cowboy_router.compile([{:_, [{"/", Hello.Handler, []}]}])

    listen = %{
      num_acceptors: 100,
      max_connections: :infinity,
      socket_opts: [ip: ip, port: String.to_integer(System.fetch_env!("PORT")), backlog: 4096]
    }

    protocol = %{env: %{dispatch: routes}, max_keepalive: :infinity}
    {:ok, _} = :cowboy.start_clear(:http, listen, protocol)
    Supervisor.start_link([], strategy: :one_for_one)
  end
end

defmodule Hello.Handler do
  def init(request, state) do
    headers = %{"content-type" => "text/plain"}
    {:ok, :cowboy_req.reply(200, headers, "Hello, World!", request), state}
  end
end
