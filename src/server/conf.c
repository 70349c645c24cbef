/* SPDX-License-Identifier: Apache-2.0 */
#include "server/conf.h"
#include "base/core/buf.h"
#include "base/core/money.h"
#include "wire/compare.h"
#include <limits.h>
#include <string.h>

#define KEY(section, key, kind, member, fallback, min, max, doc)                                   \
    {                                                                                              \
        section, key, kind, offsetof(struct server_conf, member), fallback, min, max, doc          \
    }

const struct conf_key server_conf_keys[] = {
    KEY("server", "listen", CONF_TEXT, listen, "127.0.0.1:7070", 0, 0,
        "addresses, blanks between; port 0 picks one; TLS on all that are not loopback"),
    KEY("server", "user", CONF_TEXT, user, "", 0, 0,
        "user to become when started as root; without it root is refused"),
    KEY("server", "data_dir", CONF_PATH, data_dir, "/var/lib/starlease", 0, 0,
        "directory of the database, the TLS key and the mail spool"),
    KEY("server", "db", CONF_PATH, db_path, "", 0, 0,
        "database file; default data_dir/starlease.db"),
    KEY("server", "log_level", CONF_TEXT, log_level, "info", 0, 0, "error, warn, info or debug"),
    KEY("server", "public_url", CONF_TEXT, public_url, "", 0, 0,
        "URL by which renters reach the server; default the first listener"),
    KEY("server", "report_url", CONF_TEXT, report_url, "", 0, 0,
        "URL to which agents report; default public_url + /v1/agent/report"),
    KEY("server", "drain", CONF_DURATION, drain_s, "10s", 0, 600,
        "how long requests in flight may take after SIGTERM"),
    KEY("http", "threads", CONF_INT, http_threads, "2", 1, 64,
        "threads that serve reads, per listener"),
    KEY("http", "writers", CONF_INT, http_writers, "16", 1, 256,
        "requests that may wait for the disk at the same time"),
    KEY("http", "max_connections", CONF_INT, max_connections, "4096", 16, 20000,
        "open connections per listener"),
    KEY("http", "max_per_address", CONF_INT, max_per_address, "1024", 1, 20000,
        "open connections per peer address"),
    KEY("http", "receive", CONF_DURATION, receive_s, "60s", 1, 3600,
        "time in which a whole request has to arrive"),
    KEY("tls", "cert", CONF_PATH, tls_cert, "", 0, 0,
        "PEM chain, read again when it changes; default: self-signed in data_dir"),
    KEY("tls", "key", CONF_PATH, tls_key, "", 0, 0, "PEM private key of tls.cert"),
    KEY("tls", "loopback", CONF_BOOL, tls_loopback, "no", 0, 0, "TLS on loopback listeners too"),
    KEY("mail", "url", CONF_TEXT, mail_url, "", 0, 0, "smtp://host:port or smtps://host:port"),
    KEY("mail", "from", CONF_TEXT, mail_from, "starlease@localhost", 0, 0, "sender of mails"),
    KEY("mail", "spool", CONF_PATH, mail_spool, "", 0, 0,
        "directory that gets mails as .eml files instead of sending them"),
    KEY("identity", "url", CONF_TEXT, identity_url, "", 0, 0,
        "HTTP service that verifies a phone or a real name; without it the mailed code is enough"),
    KEY("identity", "ca", CONF_PATH, identity_ca, "", 0, 0, "PEM to trust for identity.url"),
    KEY("trial", "amount", CONF_MONEY, trial_micro, "10", 0, 1000 * SL_MICRO,
        "trial credit, once per verified identity; 0 gives none"),
    KEY("trial", "currency", CONF_TEXT, currency, "CNY", 0, 0, "currency of accounts made here"),
    KEY("quota", "gpus", CONF_INT, quota_gpus, "8", 0, 100000,
        "cards a new account may hold at once"),
    KEY("quota", "leases", CONF_INT, quota_leases, "8", 0, 100000,
        "instances a new account may hold at once"),
    KEY("quota", "disk_gb", CONF_INT, quota_disk_gb, "2000", 0, 100000000,
        "disk of a new account in GB"),
    KEY("quota", "spend_per_hour", CONF_MONEY, spend_hour_micro, "1000", 0, 1000000 * SL_MICRO,
        "what all running instances of an account may cost in an hour; 0 is no limit"),
    KEY("lease", "hold_horizon", CONF_DURATION, hold_horizon_s, "10m", 60, 600,
        "use for which funds are held ahead"),
    KEY("lease", "quote_ttl", CONF_DURATION, quote_ttl_s, "15m", 60, 86400,
        "how long a quote can be used"),
    KEY("lease", "heartbeat", CONF_DURATION, heartbeat_s, "10s", 1, 60,
        "interval of proofs of life of a running instance"),
    KEY("lease", "fence_after", CONF_DURATION, fence_after_s, "15m", 60, 86400,
        "silence after which a lease may start on another node"),
    KEY("lease", "disk_keep", CONF_DURATION, disk_keep_s, "15d", 86400, 31536000,
        "how long disks are kept after the funds ended"),
    KEY("lease", "disk_meter", CONF_DURATION, disk_meter_s, "1h", 1, 86400,
        "interval at which disks are charged, where they cost anything"),
    KEY("lease", "workers", CONF_INT, workers, "8", 1, 256, "operations that run at the same time"),
    KEY("lease", "meter", CONF_DURATION, meter_s, "30s", 1, 60,
        "interval at which running instances are charged; shorter than the hold's horizon"),
    KEY("lease", "reconcile", CONF_DURATION, reconcile_s, "2s", 1, 60,
        "interval at which the nodes are asked what they run"),
    KEY("lease", "tombstone_keep", CONF_DURATION, tombstone_keep_s, "7d", 1, 31536000,
        "how long a deleted disk keeps its data"),
    KEY("lease", "shared_quota_gb", CONF_INT, shared_quota_gb, "100", 1, 1000000,
        "size of an account's shared drive in GB"),
    KEY("node", "sockets", CONF_TEXT, node_sockets, "", 0, 0,
        "agent sockets enrolled at start, blanks between: unix:/run/starlease/agentd.sock"),
    KEY("node", "ssh_host", CONF_TEXT, ssh_host, "", 0, 0,
        "host shown to renters for SSH; default the node's name"),
    KEY("node", "port_base", CONF_INT, port_base, "22000", 1024, 60000, "SSH port of slot 0"),
    KEY("invoice", "seller", CONF_TEXT, invoice_seller, "", 0, 0,
        "registered name that invoices are issued under; without it none is issued"),
    KEY("invoice", "tax_id", CONF_TEXT, invoice_tax_id, "", 0, 0, "taxpayer number of the seller"),
    KEY("invoice", "item", CONF_TEXT, invoice_item, "", 0, 0,
        "item name with the short name of its tax class; default: computing as an information "
        "technology service"),
    KEY("invoice", "tax_rate_bp", CONF_INT, invoice_tax_bp, "600", 0, 5000,
        "tax contained in prices, in hundredths of a percent: 600 is 6 %"),
    KEY("payment", "keys", CONF_PATH, payment_keys, "", 0, 0,
        "file of lines PROVIDER KEY: who may tell of payments; two lines of a provider are its old "
        "and new key"),
    KEY("payment", "tolerance", CONF_DURATION, payment_tolerance_s, "5m", 1, 3600,
        "how far the time of a payment's signature may be off"),
    KEY("prices", "files", CONF_TEXT, price_files, "", 0, 0,
        "price files (CSV) imported at start, blanks between"),
    KEY("prices", "models", CONF_PATH, model_file, "", 0, 0,
        "file of card models and their facts (CSV), read at start"),
    KEY("images", "catalogue", CONF_PATH, image_catalogue, "", 0, 0,
        "file of public images by reference (CSV), listed until they are imported"),
    KEY("images", "compatibility", CONF_PATH, image_compat, "", 0, 0,
        "file of what cards need of ROCm and kernel (CSV)"),
    KEY("images", "per_account", CONF_INT, quota_images, "20", 0, 100000,
        "images that an account may keep of its instances"),
    KEY("images", "per_account_gb", CONF_INT, quota_image_gb, "200", 0, 100000000,
        "room for them in GB"),
    KEY("prices", "notice", CONF_DURATION, price_notice_s, "7d", 0, 90 * 86400,
        "a higher price comes into force so long after it was set, at the earliest"),
    KEY("console", "fx", CONF_TEXT, console_fx, "", 0, 0,
        "dated exchange rate by which prices are shown in a second currency: "
        "USD/CNY=7.10@2026-11-30; default none"),
    {0}};

const char *conf_word(const char **rest, struct sl_arena *arena)
{
    const char *p = *rest + strspn(*rest, " \t,");
    size_t n = strcspn(p, " \t,");
    *rest = p + n;
    return n ? sl_arena_strndup(arena, p, n) : NULL;
}

static int check(struct server_conf *c, struct sl_err *err)
{
    static const char *const levels[] = {"error", "warn", "info", "debug"};
    bool known = false;
    for (size_t i = 0; i < SL_COUNT(levels); i++)
        known |= sl_streq(c->log_level, levels[i]);
    if (!known)
        return sl_fail_at(err, SL_INVALID, "server.log_level",
                          "server.log_level: \"%s\" is unknown; use error, warn, info or debug",
                          c->log_level);
    if (!currency_ok(c->currency))
        return sl_fail_at(
            err, SL_INVALID, "trial.currency",
            "trial.currency: \"%s\" is not a currency; write three capitals, like CNY",
            c->currency);
    struct fx fx;
    struct sl_err why = {0};
    if (*c->console_fx && fx_parse(c->console_fx, &fx, &why) < 0)
        return sl_fail_at(err, SL_INVALID, "console.fx", "console.fx: %.300s", why.msg);
    if (!*c->tls_cert != !*c->tls_key)
        return sl_fail_at(err, SL_INVALID, "tls.cert",
                          "tls.cert and tls.key belong together; set both or neither");
    return 0;
}

int server_conf_load(const char *path, struct sl_arena *arena, struct server_conf *ret,
                     struct sl_err *err)
{
    if (conf_load(path, server_conf_keys, ret, arena, err) < 0 || check(ret, err) < 0)
        return -1;
    if (!*ret->db_path)
        ret->db_path = sl_arena_printf(arena, "%s/starlease.db", ret->data_dir);
    return 0;
}
