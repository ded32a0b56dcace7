/* A server whose rate is known by construction.

     truth_server ADDRESS PORT [--service-us N] [--wait-ms N] [--pause-ms N]
                  [--every-requests N | --every-ms N]

   It serves one request after the other. Each takes --service-us: the server spins until that has
   passed since the last one ended. With --wait-ms, each answer waits for that long, and the others
   do not wait for it. With --pause-ms, the whole server sleeps, after so many requests or after so
   much time of the clock. */

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define CONNECTIONS 4096
#define HELLO                                                                                    \
    "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\nHello, World!"
#define NOT_FOUND "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"

static int64_t service_ns, wait_ns, pause_ns, every_requests, every_ns;
static int64_t free_ns, served, next_pause_ns;

/* Answers that wait: the first one is due first, because each waits equally long. */
static struct {
    int64_t due_ns;
    int fd;
} waiting[CONNECTIONS];
static unsigned first_waiting, end_waiting;

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void pause_now(void) {
    struct timespec time = {pause_ns / 1000000000, pause_ns % 1000000000};
    while (nanosleep(&time, &time) && errno == EINTR) {}
}

/* A server that runs for long is anywhere between two pauses. */
static double random_share(void) {
    srand48(getpid() ^ now_ns());
    return drand48();
}

static void spin(void) {
    int64_t now = now_ns();
    free_ns = (now < free_ns + service_ns ? free_ns : now) + service_ns;
    while (now_ns() < free_ns) {}
}

static void respond(int fd, const char *answer) {
    if (write(fd, answer, strlen(answer)) < 0) shutdown(fd, SHUT_RDWR);
}

static void request(int fd, const char *head) {
    if (memcmp(head, "GET / ", 6) != 0) {
        respond(fd, NOT_FOUND);
        return;
    }
    if (wait_ns) {
        waiting[end_waiting % CONNECTIONS].due_ns = now_ns() + wait_ns;
        waiting[end_waiting++ % CONNECTIONS].fd = fd;
        return;
    }
    if (service_ns) spin();
    respond(fd, HELLO);
    served++;
    if (every_requests && served >= every_requests) {
        served = 0;
        pause_now();
    }
    if (every_ns && now_ns() >= next_pause_ns) {
        pause_now();
        next_pause_ns = now_ns() + every_ns;
    }
}

static int listen_at(const char *address, int port) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
    int enabled = 1, fd = socket(AF_INET, SOCK_STREAM, 0);
    inet_pton(AF_INET, address, &at.sin_addr);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &enabled, sizeof enabled);
    if (bind(fd, (struct sockaddr *)&at, sizeof at) || listen(fd, 4096)) {
        perror("listen");
        exit(1);
    }
    return fd;
}

static void read_options(int count, char **options) {
    for (int n = 0; n + 1 < count; n += 2) {
        double value = atof(options[n + 1]);
        if (!strcmp(options[n], "--service-us")) service_ns = value * 1e3;
        else if (!strcmp(options[n], "--wait-ms")) wait_ns = value * 1e6;
        else if (!strcmp(options[n], "--pause-ms")) pause_ns = value * 1e6;
        else if (!strcmp(options[n], "--every-requests")) every_requests = value;
        else if (!strcmp(options[n], "--every-ms")) every_ns = value * 1e6;
        else exit(2);
    }
}

int main(int count, char **arguments) {
    if (count < 3) return 2;
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_TIMERSLACK, 1);
    read_options(count - 3, arguments + 3);
    int listener = listen_at(arguments[1], atoi(arguments[2])), poll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = listener}, events[256];
    epoll_ctl(poll, EPOLL_CTL_ADD, listener, &event);
    served = random_share() * every_requests;
    next_pause_ns = now_ns() + random_share() * every_ns;
    for (;;) {
        struct timespec left = {0, 0}, *limit = NULL;
        if (first_waiting != end_waiting) {
            int64_t ns = waiting[first_waiting % CONNECTIONS].due_ns - now_ns();
            if (ns > 0) left = (struct timespec){ns / 1000000000, ns % 1000000000};
            limit = &left;
        }
        int ready = syscall(SYS_epoll_pwait2, poll, events, 256, limit, NULL, 0);
        for (int n = 0; n < ready; n++) {
            int fd = events[n].data.fd, enabled = 1;
            if (fd == listener) {
                event.data.fd = accept(listener, NULL, NULL);
                setsockopt(event.data.fd, IPPROTO_TCP, TCP_NODELAY, &enabled, sizeof enabled);
                epoll_ctl(poll, EPOLL_CTL_ADD, event.data.fd, &event);
                continue;
            }
            char head[4096];
            ssize_t got = read(fd, head, sizeof head);
            if (got <= 0) close(fd);
            else request(fd, head);
        }
        while (first_waiting != end_waiting
               && waiting[first_waiting % CONNECTIONS].due_ns <= now_ns())
            respond(waiting[first_waiting++ % CONNECTIONS].fd, HELLO);
    }
}
