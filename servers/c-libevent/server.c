#define _GNU_SOURCE
#include <arpa/inet.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static void hello(struct evhttp_request *request, void *context)
{
    struct evbuffer *body = evbuffer_new();
    evbuffer_add_printf(body, "Hello, World!");
    evhttp_add_header(evhttp_request_get_output_headers(request), "Content-Type", "text/plain");
    evhttp_send_reply(request, HTTP_OK, "OK", body);
    evbuffer_free(body);
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        puts(event_get_version());
        return 0;
    }
    for (int worker = 1; worker < atoi(argv[3]); worker++) {
        if (fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGTERM);
            break;
        }
    }
    signal(SIGPIPE, SIG_IGN);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(atoi(argv[2]))};
    inet_pton(AF_INET, argv[1], &address.sin_addr);
    struct event_base *base = event_base_new();
    struct evhttp *server = evhttp_new(base);
    evhttp_set_allowed_methods(server, EVHTTP_REQ_GET);
    evhttp_set_cb(server, "/", hello, NULL);
    struct evconnlistener *listener = evconnlistener_new_bind(
        base, NULL, NULL, LEV_OPT_REUSEABLE | LEV_OPT_REUSEABLE_PORT | LEV_OPT_CLOSE_ON_FREE, 4096,
        (struct sockaddr *)&address, sizeof address);
    if (listener == NULL || evhttp_bind_listener(server, listener) == NULL)
        return 1;
    event_base_dispatch(base);
    return 0;
}
