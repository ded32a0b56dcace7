-module(hello).
-export([start/1, init/2]).

start([Host, Port]) ->
    {ok, Address} = inet:parse_address(Host),
    {ok, _} = application:ensure_all_started(cowboy),
    Routes = cowboy_router:compile([{'_', [{"/", ?MODULE, []}]}]),
    {ok, _} = cowboy:start_clear(
        hello,
        #{
            num_acceptors => 100,
            max_connections => infinity,
            socket_opts => [{ip, Address}, {port, list_to_integer(Port)}, {backlog, 4096}]
        },
        #{env => #{dispatch => Routes}, max_keepalive => infinity}
    ).

init(Request, State) ->
    Headers = #{<<"content-type">> => <<"text/plain">>},
    {ok, cowboy_req:reply(200, Headers, <<"Hello, World!">>, Request), State}.
