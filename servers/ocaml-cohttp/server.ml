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
  let host = Sys.argv.(1) and port = int_of_string Sys.argv.(2) in
  Lwt_main.run
    ( Conduit_lwt_unix.init ~src:host () >>= fun ctx ->
      Server.create
        ~ctx:(Net.init ~ctx ())
        ~backlog:4096
        ~mode:(`TCP (`Port port))
        (Server.make ~callback:hello ()) )
