-module(hello).
-export([start/1, init/2]).

start([Host, Port]) ->
    {ok, Address} = inet:parse_address(Host),
    {ok, _} = application:ensure_all_started(cowboy),
    Routes = cowboy_router:compile([{'_', [{"/", ?MODULE, []}]}]),
    Socket = [{ip, Address}, {port, list_to_integer(Port)}, {backlog, 4096}],
    Transport = #{num_acceptors => 100, max_connections => infinity},
    Protocol = #{
        env => #{dispatch => Routes},
        max_keepalive => infinity,
        max_received_frame_rate => {1000000000, 10000}
    },
    {ok, _} = case os:getenv("CERT") of
        false ->
            cowboy:start_clear(hello, Transport#{socket_opts => Socket}, Protocol);
        Cert ->
            Secure = [{certfile, Cert}, {keyfile, os:getenv("KEY")} | Socket],
            cowboy:start_tls(hello, Transport#{socket_opts => Secure}, Protocol)
    end.

init(Request, State) ->
    Headers = #{<<"content-type">> => <<"text/plain">>},
    {ok, cowboy_req:reply(200, Headers, <<"Hello, World!">>, Request), State}.
