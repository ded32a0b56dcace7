#include <civetweb.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static int hello(struct mg_connection *connection, void *context)
{
    const struct mg_request_info *request = mg_get_request_info(connection);
    if (strcmp(request->request_method, "GET") != 0 || strcmp(request->local_uri, "/") != 0)
        return mg_send_http_error(connection, 404, "%s", "");
    const char *body = "Hello, World!";
    mg_send_http_ok(connection, "text/plain", strlen(body));
    mg_write(connection, body, strlen(body));
    return 200;
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        puts(mg_version());
        return 0;
    }
    sigset_t stop;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTERM);
    sigprocmask(SIG_BLOCK, &stop, NULL);
    char address[64];
    snprintf(address, sizeof address, "%s:%s", argv[1], argv[2]);
    const char *options[] = {"listening_ports", address, "num_threads", argv[3],
                             "enable_keep_alive", "yes", "keep_alive_timeout_ms", "60000",
                             "tcp_nodelay", "1", "listen_backlog", "4096", NULL};
    mg_init_library(0);
    struct mg_context *server = mg_start(NULL, NULL, options);
    if (server == NULL)
        return 1;
    mg_set_request_handler(server, "/", hello, NULL);
    int received;
    sigwait(&stop, &received);
    mg_stop(server);
    return 0;
}
