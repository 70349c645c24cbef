/* SPDX-License-Identifier: Apache-2.0 */
#include "server/listen.h"
#include "server/conf.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <unistd.h>

bool address_is_loopback(const struct sockaddr *sa)
{
    if (sa->sa_family == AF_INET)
        return (ntohl(((const struct sockaddr_in *)(const void *)sa)->sin_addr.s_addr) >> 24) ==
               127;
    return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)sa)->sin6_addr);
}

/* "127.0.0.1:7070" or "[::1]:7070" -> address. */
static int parse_listen(const char *word, struct addrinfo **ret, struct sl_err *err)
{
    char host[80] = "";
    const char *colon = strrchr(word, ':');
    size_t n = colon ? (size_t)(colon - word) : 0;
    if (n > 2 && n < sizeof host && word[0] == '[' && word[n - 1] == ']')
        snprintf(host, sizeof host, "%.*s", (int)n - 2, word + 1);
    else if (n > 0 && n < sizeof host && !memchr(word, ':', n))
        snprintf(host, sizeof host, "%.*s", (int)n, word);
    long long port = -1;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV};
    if (!*host || !sl_parse_i64(colon + 1, &port) || port < 0 || port > 65535 ||
        getaddrinfo(host, colon + 1, &hints, ret) != 0)
        return sl_fail_at(err, SL_INVALID, "server.listen",
                          "server.listen: \"%.60s\" is not ADDRESS:PORT; write 127.0.0.1:7070 or "
                          "[::1]:7070",
                          word);
    return 0;
}

int listen_bind(const char *word, int *ret_fd, struct sockaddr_storage *ret_addr,
                struct sl_err *err)
{
    struct addrinfo *ai;
    int one = 1;
    if (parse_listen(word, &ai, err) < 0)
        return -1;
    int fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    socklen_t n = sizeof *ret_addr;
    bool ok = fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) == 0 &&
              (ai->ai_family != AF_INET6 ||
               setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one) == 0) &&
              bind(fd, ai->ai_addr, ai->ai_addrlen) == 0 && listen(fd, 511) == 0 &&
              getsockname(fd, (struct sockaddr *)ret_addr, &n) == 0;
    int why = errno;
    freeaddrinfo(ai);
    if (ok) {
        *ret_fd = fd;
        return 0;
    }
    if (fd >= 0)
        close(fd);
    return sl_fail_errno(err, why, "server.listen: cannot listen on %s; is another server there?",
                         word);
}

void listen_url(const struct sockaddr_storage *a, bool tls, struct sl_buf *out)
{
    char host[INET6_ADDRSTRLEN] = "";
    char port[8] = "";
    getnameinfo((const struct sockaddr *)a,
                a->ss_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6),
                host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV);
    bool six = a->ss_family == AF_INET6;
    sl_buf_printf(out, "%s%s://%s%s%s:%s", out->n ? " " : "", tls ? "https" : "http",
                  six ? "[" : "", host, six ? "]" : "", port);
}

int listen_public(const char *listen, struct sl_buf *out, bool *ret_any, struct sl_err *err)
{
    SL_AUTO_ARENA struct sl_arena arena = {0};
    const char *word;
    *ret_any = false;
    while ((word = conf_word(&listen, &arena))) {
        struct addrinfo *ai;
        char host[INET6_ADDRSTRLEN] = "";
        if (parse_listen(word, &ai, err) < 0)
            return -1;
        getnameinfo(ai->ai_addr, ai->ai_addrlen, host, sizeof host, NULL, 0, NI_NUMERICHOST);
        if (!address_is_loopback(ai->ai_addr)) {
            *ret_any = true;
            sl_buf_printf(out, " %s", host);
        }
        freeaddrinfo(ai);
    }
    return 0;
}
