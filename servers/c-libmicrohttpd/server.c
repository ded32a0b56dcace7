#include <arpa/inet.h>
#include <microhttpd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum MHD_Result respond(struct MHD_Connection *connection, unsigned status, const char *body)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(strlen(body), (void *)body, MHD_RESPMEM_PERSISTENT);
    MHD_add_response_header(response, "Content-Type", "text/plain");
    enum MHD_Result queued = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return queued;
}

static enum MHD_Result answer(void *context, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_size, void **request)
{
    static int head_seen;
    if (*request == NULL) {  // the first of two calls: the head has been read, the body has not
        *request = &head_seen;
        return MHD_YES;
    }
    if (strcmp(method, "GET") == 0 && strcmp(url, "/") == 0)
        return respond(connection, MHD_HTTP_OK, "Hello, World!");
    return respond(connection, MHD_HTTP_NOT_FOUND, "");
}

static char *text_of(const char *path)
{
    const size_t size_max = 16384;
    char *text = calloc(1, size_max);
    FILE *file = fopen(path, "r");
    if (file == NULL || fread(text, 1, size_max - 1, file) == 0) {
        perror(path);
        exit(1);
    }
    fclose(file);
    return text;
}

int main(int argc, char **argv)
{
    if (argc != 4 && argc != 6) {
        puts(MHD_get_version());
        return 0;
    }
    sigset_t stop;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTERM);
    sigprocmask(SIG_BLOCK, &stop, NULL);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(atoi(argv[2]))};
    inet_pton(AF_INET, argv[1], &address.sin_addr);
    unsigned threads = atoi(argv[3]);
    struct MHD_OptionItem plain[] = {{MHD_OPTION_END, 0, NULL}};
    struct MHD_OptionItem secure[] = {
        {MHD_OPTION_HTTPS_MEM_CERT, 0, argc == 6 ? text_of(argv[4]) : NULL},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, argc == 6 ? text_of(argv[5]) : NULL},
        {MHD_OPTION_END, 0, NULL},
    };
    struct MHD_Daemon *daemon = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | (argc == 6 ? MHD_USE_TLS : 0), 0, NULL, NULL, answer, NULL,
        MHD_OPTION_SOCK_ADDR, &address, MHD_OPTION_LISTEN_BACKLOG_SIZE, 4096u,
        MHD_OPTION_CONNECTION_LIMIT, 4096u, MHD_OPTION_ARRAY, argc == 6 ? secure : plain,
        threads > 1 ? MHD_OPTION_THREAD_POOL_SIZE : MHD_OPTION_END, threads, MHD_OPTION_END);
    if (daemon == NULL)
        return 1;
    int received;
    sigwait(&stop, &received);
    MHD_stop_daemon(daemon);
    return 0;
}
