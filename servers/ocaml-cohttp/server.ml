open Lwt.Infix
open Cohttp
open Cohttp_lwt_unix

let text = Header.init_with "Content-Type" "text/plain"

let hello _connection request _body =
  match (Request.meth request, Request.resource request) with
  | `GET, "/" ->
      Server.respond_string ~headers:text ~status:`OK ~body:"Hello, World!" ()
  | _ -> Server.respond_string ~status:`Not_found ~body:"" ()

let () =
  let host = Sys.argv.(1) and port = `Port (int_of_string Sys.argv.(2)) in
  let mode =
    if Array.length Sys.argv = 3 then `TCP port
    else `TLS (`Crt_file_path Sys.argv.(3), `Key_file_path Sys.argv.(4), `No_password, port)
  in
  Lwt_main.run
    ( Conduit_lwt_unix.init ~src:host () >>= fun ctx ->
      Server.create
        ~ctx:(Net.init ~ctx ())
        ~backlog:4096 ~mode
        (Server.make ~callback:hello ()) )
