defmodule Hello do
  use Application

  def start(_type, _args) do
    {:ok, ip} = :inet.parse_address(String.to_charlist(System.fetch_env!("HOST")))
    routes = :cowboy_router.compile([{:_, [{"/", Hello.Handler, []}]}])

    listen = [
      ip: ip,
      port: number("PORT"),
      backlog: number("BACKLOG"),
      max_connections: number("MAX_CONNECTIONS")
    ]

    protocol = [env: [dispatch: routes], max_keepalive: number("MAX_KEEPALIVE")]
    {:ok, _} = :cowboy.start_http(:http, 100, listen, protocol)
    Supervisor.start_link([], strategy: :one_for_one)
  end

  defp number(name), do: String.to_integer(System.fetch_env!(name))
end

defmodule Hello.Handler do
  def init(_type, request, _options), do: {:ok, request, nil}

  def handle(request, state) do
    headers = [{"content-type", "text/plain"}]
    {:ok, replied} = :cowboy_req.reply(200, headers, "Hello, World!", request)
    {:ok, replied, state}
  end

  def terminate(_reason, _request, _state), do: :ok
end
