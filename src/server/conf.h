/* SPDX-License-Identifier: Apache-2.0
 *
 * conf.h: the configuration of starleased. One table in conf.c names every key with type, default,
 * range and a line of text; from it come the reader, `starleased --help-config` and the man page.
 * To add a key: a member here, a row there.
 *
 *     [server]                      STARLEASE_SERVER_LISTEN in the environment overrides
 *     listen = 127.0.0.1:7070
 *
 * Strings live in the arena that was given to server_conf_load, as long as the server does.
 */
#ifndef SERVER_CONF_H
#define SERVER_CONF_H
#include "base/core/err.h"
#include "base/core/mem.h"
#include "base/io/conf.h"
#include <stdbool.h>
#include <stdint.h>

struct server_conf {
    /* [server] */
    const char *listen;     /* "127.0.0.1:7070 [::1]:7070": blanks between; TLS unless loopback */
    const char *user;       /* the user to become when started as root */
    const char *data_dir;   /* database, TLS key, spool */
    const char *db_path;    /* "" = data_dir/starlease.db */
    const char *log_level;  /* error, warn, info, debug */
    const char *public_url; /* how renters reach the server; "" = the first listener */
    const char *report_url; /* where agents report; "" = public_url + /v1/agent/report */
    int64_t drain_s;        /* SIGTERM: time for requests in flight */
    /* [http] */
    int64_t http_threads, http_writers, max_connections, max_per_address;
    int64_t receive_s; /* a whole request has to arrive within */
    /* [tls] */
    const char *tls_cert, *tls_key; /* PEM; "" = self-signed in data_dir */
    bool tls_loopback;              /* TLS on loopback listeners too */
    /* [mail] */
    const char *mail_url, *mail_from; /* smtp://host:port; "" = no mail */
    const char *mail_spool;           /* directory for .eml files instead of sending, or "" */
    /* [identity] */
    const char *identity_url, *identity_ca; /* HTTP adapter; "" = the mailed code is the identity */
    /* [trial] */
    int64_t trial_micro;
    const char *currency; /* of accounts made here */
    /* [quota] defaults of a new account */
    int64_t quota_gpus, quota_leases, quota_disk_gb;
    int64_t spend_hour_micro; /* rate of all that an account has running; 0 = no limit */
    /* [lease] */
    int64_t hold_horizon_s; /* funds held ahead; at most 600 */
    int64_t quote_ttl_s;
    int64_t heartbeat_s, fence_after_s;
    int64_t disk_keep_s;      /* a stopped lease without funds keeps its disk so long */
    int64_t disk_meter_s;     /* between charges of a disk */
    int64_t workers;          /* operation worker threads */
    int64_t meter_s;          /* between captures of a running lease */
    int64_t reconcile_s;      /* between looks at what the nodes run */
    int64_t tombstone_keep_s; /* a deleted disk keeps its data so long */
    int64_t shared_quota_gb;  /* of an account's shared drive */
    int64_t quota_images, quota_image_gb;
    /* [node] */
    const char *node_sockets; /* "unix:/run/starlease/agentd.sock ...": enrolled at start */
    const char *ssh_host;     /* shown to renters; "" = the node's name */
    int64_t port_base;        /* SSH port of slot 0 */
    /* [invoice] */
    const char *invoice_seller, *invoice_tax_id, *invoice_item; /* "" = not set */
    int64_t invoice_tax_bp;                                     /* 600 = 6 % */
    /* [payment] */
    const char *payment_keys; /* file of lines "PROVIDER KEY"; "" = no webhook */
    int64_t payment_tolerance_s;
    /* [prices] */
    const char *price_files;                    /* CSV files imported at start, blanks between */
    const char *model_file;                     /* CSV of card models, read at start */
    const char *image_catalogue, *image_compat; /* images.* */
    const char *console_fx;                     /* [console] "USD/CNY=7.10@2026-11-30", or "" */
    int64_t price_notice_s; /* a higher price comes into force so much later, at the earliest */
};

/* path NULL: defaults and environment only. Checks what spans several keys. */
int server_conf_load(const char *path, struct sl_arena *arena, struct server_conf *ret,
                     struct sl_err *err);
extern const struct conf_key server_conf_keys[];
/* Cuts the next blank-separated word off *rest into out (arena copy); NULL at the end. */
const char *conf_word(const char **rest, struct sl_arena *arena);
#endif
