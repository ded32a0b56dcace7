-module(hello).
-export([start/1]).

start([Host, Port, Backlog, Max]) ->
    Secure = case os:getenv("CERT") of
        false -> [];
        Cert -> [{ssl, true}, {ssl_opts, [{certfile, Cert}, {keyfile, os:getenv("KEY")}]}]
    end,
    {ok, _} = mochiweb_http:start(Secure ++ [
        {name, hello},
        {link, false},
        {ip, Host},
        {port, list_to_integer(Port)},
        {backlog, list_to_integer(Backlog)},
        {max, list_to_integer(Max)},
        {loop, fun handle/1}
    ]).

handle(Request) ->
    case {mochiweb_request:get(method, Request), mochiweb_request:get(path, Request)} of
        {'GET', "/"} -> mochiweb_request:ok({"text/plain", "Hello, World!"}, Request);
        _ -> mochiweb_request:not_found(Request)
    end.
