open Lwt.Infix
open Cohttp
open Cohttp_lwt_unix

let text = Header.init_with "Content-Type" "text/plain"
let with_date = Sys.getenv_opt "DATE" <> None
let days = [| "Sun"; "Mon"; "Tue"; "Wed"; "Thu"; "Fri"; "Sat" |]

let months =
  [| "Jan"; "Feb"; "Mar"; "Apr"; "May"; "Jun"; "Jul"; "Aug"; "Sep"; "Oct"; "Nov"; "Dec" |]

let date () =
  let t = Unix.gmtime (Unix.time ()) in
  Printf.sprintf "%s, %02d %s %d %02d:%02d:%02d GMT" days.(t.tm_wday) t.tm_mday
    months.(t.tm_mon) (t.tm_year + 1900) t.tm_hour t.tm_min t.tm_sec

let dated headers = if with_date then Header.add headers "Date" (date ()) else headers

let hello _connection request _body =
  match (Request.meth request, Request.resource request) with
  | `GET, "/" ->
      Server.respond_string ~headers:(dated text) ~status:`OK ~body:"Hello, World!" ()
  | _ -> Server.respond_string ~headers:(dated (Header.init ())) ~status:`Not_found ~body:"" ()

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
