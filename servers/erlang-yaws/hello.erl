-module(hello).
-export([start/1, out/1]).

start([Host, Port]) ->
    {ok, Address} = inet:parse_address(Host),
    ok = yaws:start_embedded(
        ".",
        [
            {servername, Host},
            {listen, Address},
            {port, list_to_integer(Port)},
            {soptions, [{listen_opts, [{backlog, 4096}]}]},
            {flags, [{access_log, false}, {auth_log, false}]},
            {appmods, [{"/", ?MODULE}]}
            | secure(os:getenv("CERT"))
        ],
        [{logdir, "."}, {max_connections, nolimit}, {keepalive_maxuses, nolimit}],
        "hello"
    ).

secure(false) -> [];
secure(Cert) ->
    {ok, _} = application:ensure_all_started(ssl),
    [{ssl, [{certfile, Cert}, {keyfile, os:getenv("KEY")}]}].

out(Arg) ->
    case {yaws_api:http_request_method(yaws_api:arg_req(Arg)), yaws_api:arg_server_path(Arg)} of
        {'GET', "/"} -> {content, "text/plain", "Hello, World!"};
        _ -> {status, 404}
    end.
