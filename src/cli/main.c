/* SPDX-License-Identifier: Apache-2.0
 *
 * main.c: `starlease`, the command line for renters and operators. The table below is the whole
 * command line: help, man page and completion are printed from it.
 */
#include "cli/verbs.h"
#include "cli/bench.h"
#include "cli/verbs_money.h"
#include "base/io/crypto.h"

static const char *const outputs[] = {"json", "table", NULL};
static const struct cmd_opt global_opts[] = {
    {"output", 'o', CMD_TEXT, "json|table", "how answers are printed; default table", outputs,
     offsetof(struct cli_globals, output)},
    {"explain", 0, CMD_FLAG, NULL, "print the HTTP call instead of making it", NULL,
     offsetof(struct cli_globals, explain)},
    {"url", 0, CMD_TEXT, "URL", "server; default STARLEASE_URL, then the configuration", NULL,
     offsetof(struct cli_globals, url)},
    {"config", 0, CMD_TEXT, "FILE", "default STARLEASE_CONFIG, then ~/.config/starlease/config",
     NULL, offsetof(struct cli_globals, config)},
    {0}};

#define OPTS(table, type) table, sizeof(type)
#define NO_OPTS NULL, 0
#define ANY (-1)
static const struct cmd_verb verbs[] = {
    {"signup", "EMAIL", "open an account; a code is mailed", OPTS(signup_opts, struct signup_args),
     signup_main, 1, 1},
    {"verify", "EMAIL [CODE]", "enter the mailed code; without CODE have a new one mailed", NO_OPTS,
     verify_main, 1, 2},
    {"login", "[EMAIL]", "sign in and keep the token", OPTS(login_opts, struct login_args),
     login_main, 0, 1,
     .details = "With --url the server's address is kept too. An https server whose certificate "
                "the system does not know is shown with its fingerprint; once trusted, only that "
                "certificate is "
                "accepted for the address. The key that signs statements is pinned."},
    {"trial", "", "ask for the trial credit, once per verified person",
     OPTS(trial_opts, struct trial_args), trial_main, 0, 0},
    {"price list", "", "the price table", OPTS(price_opts, struct price_args), price_list_main, 0,
     0},
    {"compare", "NxMODEL:DURATION...", "what a job costs on several models",
     OPTS(compare_opts, struct compare_args), compare_main, 1, ANY,
     .details =
         "compare '8xMI300X:24h' '8xH100 SXM:24h' --fx USD/CNY=7.1@2026-11-30. A job is "
         "NxMODEL[@OFFER]:DURATION. Without an exchange rate no ratio between two currencies is "
         "given and the exit status is not 0."},
    {"quote", "IMAGE", "a binding offer", OPTS(quote_opts, struct quote_args), quote_main, 1, 1},
    {"run", "IMAGE [COMMAND...]", "rent cards: quote, ask, start, wait for SSH",
     OPTS(run_opts, struct run_args), run_main, 1, ANY, .stop_at_arg = true,
     .details =
         "Options stand before IMAGE. The cost is shown and asked for; without a terminal --yes "
         "is needed. COMMAND runs once the meter runs; SSH is there with or without it."},
    {"ps", "", "your instances", OPTS(ps_opts, struct ps_args), ps_main, 0, 0},
    {"show", "LEASE", "one instance with its timeline", NO_OPTS, show_main, 1, 1},
    {"ssh", "LEASE [SSH-ARGS...]", "open a shell in an instance", OPTS(ssh_opts, struct ssh_args),
     ssh_main, 1, ANY, .stop_at_arg = true,
     .details =
         "LEASE is an id or a name, here and everywhere. The host key is taken from the control "
         "plane, so a wrong machine is refused. Options stand before LEASE."},
    {"exec", "LEASE COMMAND...", "run a command in an instance; its exit status is passed on",
     OPTS(ssh_opts, struct ssh_args), exec_main, 2, ANY, .stop_at_arg = true,
     .details =
         "Words arrive as they are given, without a shell: exec my-lease sh -c 'echo $HOME'."},
    {"cp", "SOURCE DIRECTORY", "copy a file or directory; one side is LEASE:PATH",
     OPTS(ssh_opts, struct ssh_args), cp_main, 2, 2},
    {"logs", "LEASE", "what COMMAND printed", OPTS(logs_opts, struct logs_args), logs_main, 1, 1},
    {"stop", "LEASE", "end billing; disk, id, port and host key are kept",
     OPTS(stop_opts, struct wait_args), stop_main, 1, 1,
     .details =
         "Shows stock, the cost of the disk while stopped and until when it is kept, and asks "
         "at a terminal. Without one it stops at once: a script can always end what it pays "
         "for."},
    {"start", "LEASE", "start a stopped instance again", OPTS(start_opts, struct start_args),
     start_main, 1, 1,
     .details =
         "At the price that is pinned since the first start, unless --gpus or --model ask for "
         "a new one. When the cards are gone it lists what can be had and ends with status 7."},
    {"tariff list", "", "prices of runs without cards and of disks", NO_OPTS, tariff_list_main, 0,
     0},
    {"tariff set", "cpu|disk PRICE", "a new price per hour, or per GB and month (operator)",
     OPTS(tariff_opts, struct tariff_args), tariff_set_main, 2, 2},
    {"autostop", "LEASE", "show or change the timers that stop and delete an instance",
     OPTS(autostop_opts, struct autostop_args), autostop_main, 1, 1,
     .details =
         "A TTL counts from SSH ready, or from now when it is set on a running instance; TTL "
         "and budget end the bill at an exact second. Idle means no SSH session, no "
         "connection to a port on which the instance listens, less than a twentieth of a CPU "
         "and no GPU use, where the driver counts it. The deletion counts from the stop. "
         "Each is told ahead by an event and a mail; \"off\" switches it off."},
    {"rm", "LEASE", "stop and give up an instance; its disk becomes a tombstone",
     OPTS(rm_opts, struct wait_args), rm_main, 1, 1},
    {"image list", "", "images: everybody's, yours, and those that could be imported", NO_OPTS,
     image_list_main, 0, 0},
    {"image import", "NAME [FILE|REFERENCE]",
     "import a root tarball, an OCI layout or an image of a registry (operator)",
     OPTS(image_import_opts, struct image_args), image_import_main, 1, 2,
     .details = "REFERENCE is docker://HOST/REPOSITORY@sha256:HEX or docker://HOST/REPOSITORY:TAG. "
                "With NAME alone it is the catalogue's. The node fetches it; the registry's user "
                "name and password reach nobody but the registry and its token service."},
    {"image save", "LEASE NAME", "keep a stopped instance as an image of your own",
     OPTS(image_save_opts, struct image_args), image_save_main, 2, 2},
    {"image rm", "IMAGE", "remove an image: your own, or any as operator", NO_OPTS, image_rm_main,
     1, 1},
    {"volume list", "", "your disks, deleted ones too until they are purged", NO_OPTS,
     volume_list_main, 0, 0},
    {"volume grow", "VOLUME GB", "make a disk larger, while it is used or not", NO_OPTS,
     volume_grow_main, 2, 2},
    {"snapshot create", "VOLUME", "a snapshot of a stopped instance's disk",
     OPTS(snapshot_opts, struct snapshot_args), snapshot_create_main, 1, 1,
     .details = "Shares its blocks with the disk where the node's file system can (reflink), else "
                "it is a sparse copy; `snapshot list` says which. It counts in the disk quota."},
    {"snapshot list", "", "your snapshots", NO_OPTS, snapshot_list_main, 0, 0},
    {"snapshot restore", "SNAPSHOT", "put it back on its disk; what is there now is lost",
     OPTS(snapshot_yes_opts, struct snapshot_args), snapshot_restore_main, 1, 1},
    {"snapshot rm", "SNAPSHOT", "delete a snapshot", NO_OPTS, snapshot_rm_main, 1, 1},
    {"volume rm", "VOLUME", "delete a disk; --purge destroys it now",
     OPTS(volume_rm_opts, struct volume_args), volume_rm_main, 1, 1},
    {"key add", "FILE.pub", "add an SSH public key", OPTS(key_add_opts, struct key_args),
     key_add_main, 1, 1},
    {"key list", "", "your SSH keys", NO_OPTS, key_list_main, 0, 0},
    {"key rm", "KEY", "remove an SSH key", NO_OPTS, key_rm_main, 1, 1},
    {"token create", "NAME", "make an API token", OPTS(token_opts, struct token_args),
     token_create_main, 1, 1},
    {"token list", "", "your API tokens", NO_OPTS, token_list_main, 0, 0},
    {"token revoke", "TOKEN", "end an API token at once", NO_OPTS, token_revoke_main, 1, 1},
    {"wallet show", "", "your money", NO_OPTS, wallet_show_main, 0, 0},
    {"wallet ledger", "", "every transaction with its entries", NO_OPTS, wallet_ledger_main, 0, 0},
    {"wallet topup", "ACCOUNT AMOUNT", "pay in for an account, by id or e-mail (operator)",
     OPTS(topup_opts, struct topup_args), wallet_topup_main, 2, 2},
    {"bill show", "", "a statement for people", OPTS(bill_opts, struct bill_args), bill_show_main,
     0, 0},
    {"bill export", "FILE", "save a signed statement", OPTS(bill_export_opts, struct bill_args),
     bill_export_main, 1, 1},
    {"bill verify", "FILE", "recompute a statement, offline",
     OPTS(bill_verify_opts, struct bill_verify_args), bill_verify_main, 1, 1,
     .details =
         "Checks the signature, every line and capture from its price version and seconds, the "
         "account's hash chain and all sums. Exit status 11 when anything does not agree."},
    {"bill csv", "FILE", "the lines of a statement as CSV, to recompute them with other tools",
     NO_OPTS, bill_csv_main, 1, 1,
     .details = "Amounts are whole micro-units: charge_micro is R(rate_micro x to_s / per_s) - "
                "R(rate_micro x from_s / per_s), R rounding half up. Nothing is checked."},
    {"bench run", "SUITE [COMMAND...]", "run a benchmark and write its record",
     OPTS(bench_run_opts, struct bench_run_args), bench_run_main, 1, ANY, .stop_at_arg = true,
     .details =
         "SUITE is resnet50, gemm, memcpy or allreduce (PyTorch of the machine or image), or "
         "kernel: "
         "any COMMAND that prints a figure. Options stand before SUITE. With --in it runs in an "
         "instance, seeded by the nonce that the control plane chose, and the record comes back "
         "signed. Everything else is its numeric result, and a result that repeats itself is the "
         "instance's first reproducible metric."},
    {"bench verify", "FILE", "recompute a benchmark record, offline",
     OPTS(bench_verify_opts, struct bench_verify_args), bench_verify_main, 1, 1},
    {"bench compare", "FILE FILE", "how much slower the second is, with its interval",
     OPTS(bench_compare_opts, struct bench_compare_args), bench_compare_main, 2, 2,
     .details = "Called a migration loss only where the hardware is the same, or normalised by two "
                "stated peaks. Within, worse, or undecided: more runs needed."},
    {"bench list", "LEASE", "the records of an instance", NO_OPTS, bench_list_main, 1, 1},
    {"bench get", "RECORD FILE", "save a signed record again", NO_OPTS, bench_get_main, 2, 2},
    {"wallet redeem", "CODE", "redeem a voucher for credit", NO_OPTS, wallet_redeem_main, 1, 1},
    {"wallet refund", "AMOUNT", "ask for unspent cash back; it leaves the wallet at once",
     OPTS(refund_opts, struct refund_args), wallet_refund_main, 1, 1},
    {"refund list", "", "cash on its way back", NO_OPTS, refund_list_main, 0, 0},
    {"refund cancel", "REFUND", "take back a refund that was not paid yet", NO_OPTS,
     refund_cancel_main, 1, 1},
    {"refund pay", "REFUND", "say that a refund was paid (operator)",
     OPTS(note_opts, struct note_args), refund_pay_main, 1, 1},
    {"refund reject", "REFUND", "reject a refund; the cash is free again (operator)",
     OPTS(note_opts, struct note_args), refund_reject_main, 1, 1},
    {"voucher create", "NAME VALUE", "make codes that are worth credit; shown once (operator)",
     OPTS(voucher_opts, struct voucher_args), voucher_create_main, 2, 2},
    {"voucher list", "", "batches of codes (operator)", NO_OPTS, voucher_list_main, 0, 0},
    {"voucher revoke", "VOUCHER", "withdraw a batch (operator)", NO_OPTS, voucher_revoke_main, 1,
     1},
    {"payment list", "[STATE]", "what payment providers told: suspense, booked ... (operator)",
     NO_OPTS, payment_list_main, 0, 1},
    {"payment resolve", "PAYMENT", "book a payment in suspense, or say it was sent back (operator)",
     OPTS(resolve_opts, struct note_args), payment_resolve_main, 1, 1},
    {"invoice request", "BUYER", "ask for an invoice over what was paid in cash; a draft",
     OPTS(invoice_opts, struct invoice_args), invoice_request_main, 1, 1,
     .details = "What credit paid is not invoiced, and nothing is invoiced twice."},
    {"invoice list", "", "your invoices", NO_OPTS, invoice_list_main, 0, 0},
    {"invoice show", "INVOICE", "one invoice as it is printed; -o json for programs", NO_OPTS,
     invoice_show_main, 1, 1},
    {"invoice reverse", "INVOICE", "ask for the reversal of an invoice; cancels a draft",
     OPTS(invoice_reverse_opts, struct invoice_reason_args), invoice_reverse_main, 1, 1},
    {"invoice issue", "INVOICE", "issue a draft: it gets its number (operator)", NO_OPTS,
     invoice_issue_main, 1, 1},
    {"invoice confirm", "INVOICE", "confirm a reversal with its red letter (operator)", NO_OPTS,
     invoice_confirm_main, 1, 1},
    {"node list", "", "GPU servers (operator)", NO_OPTS, node_list_main, 0, 0},
    {"node show", "NODE", "one GPU server with its cards (operator)", NO_OPTS, node_show_main, 1,
     1},
    {"node enrol", "SOCKET", "take a GPU server into service (operator)",
     OPTS(enrol_opts, struct enrol_args), node_enrol_main, 1, 1},
    {"node drain", "NODE", "no new instances on it (operator)", NO_OPTS, node_drain_main, 1, 1},
    {"node resume", "NODE", "back into service (operator)", NO_OPTS, node_resume_main, 1, 1},
    {"node retire", "NODE", "take an empty node out of service (operator)", NO_OPTS,
     node_retire_main, 1, 1},
    {"node certificates", "[NODE]", "wipe certificates, -o json with their steps (operator)",
     NO_OPTS, node_certificates_main, 0, 1},
    {"account list", "", "all accounts (operator)", NO_OPTS, account_list_main, 0, 0},
    {"account freeze", "ACCOUNT", "stop what it runs, start nothing more (operator)",
     OPTS(freeze_opts, struct topup_args), account_freeze_main, 1, 1,
     .details = "ACCOUNT is an id or an e-mail address. Disks stay; the renter reads the reason."},
    {"account unfreeze", "ACCOUNT", "let it start things again (operator)", NO_OPTS,
     account_unfreeze_main, 1, 1},
    {"audit money", "", "recompute all the books; exit status 11 on a difference (operator)",
     NO_OPTS, audit_money_main, 0, 0},
    {"events", "", "what happened, oldest first", OPTS(events_opts, struct events_args),
     events_main, 0, 0},
    {"api", "METHOD PATH", "any call of the HTTP interface", OPTS(api_opts, struct api_args),
     api_main, 2, 2},
    {0}};

/* EXIT STATUS follows the table of base/core/err.c; the docs test compares them. */
static const char man_tail[] =
    ".SH EXIT STATUS\n"
    ".TP\n0\ndone\n.TP\n1\na fault of the programs\n.TP\n2\na value is wrong\n"
    ".TP\n3\nnot signed in, or not allowed\n.TP\n4\nno such thing\n.TP\n5\nthe state does not "
    "allow it\n"
    ".TP\n6\nquota reached\n.TP\n7\nno card is free\n.TP\n8\nnot enough credit\n"
    ".TP\n9\nunavailable, timed out, or too many attempts: try again\n.TP\n10\nstorage is full\n"
    ".TP\n11\nan integrity check failed\n"
    ".PP\nssh and exec pass on the status of ssh.\n"
    ".SH ENVIRONMENT\n"
    ".TP\nSTARLEASE_URL, STARLEASE_TOKEN, STARLEASE_CA\nbefore the configuration file\n"
    ".TP\nSTARLEASE_CONFIG\nthe configuration file\n"
    ".TP\nSTARLEASE_PASSWORD\nthe password for signup and login\n"
    ".TP\nSTARLEASE_REGISTRY_PASSWORD\nthe password for image import --registry-user\n"
    ".SH FILES\n"
    ".TP\n~/.config/starlease/config\nserver, token, pinned key; mode 0600\n"
    ".TP\n/usr/share/starlease/prices/seed.csv\nprices used without a server\n";

static const struct cmd_program program = {"starlease",
                                           "rent GPU servers, see what they cost, check the bill",
                                           verbs,
                                           global_opts,
                                           sizeof(struct cli_globals),
                                           man_tail};

static bool speaks_chinese(void)
{
    const char *v = getenv("LC_ALL");
    if (!v || !*v)
        v = getenv("LC_MESSAGES");
    if (!v || !*v)
        v = getenv("LANG");
    return v && sl_starts(v, "zh");
}

/* One sentence on stderr; with -o json as an object, so that a script reads one format. */
static int report(const struct cli *c, const struct sl_err *e)
{
    const struct sl_code_info *info = sl_code_info(e->code);
    if (c->json) {
        SL_AUTO_BUF struct sl_buf b = SL_BUF(4096);
        struct jw w = {&b};
        jw_object(&w, NULL);
        jw_str(&w, "code", info->name);
        jw_str(&w, "detail", e->msg);
        if (e->field[0])
            jw_str(&w, "field", e->field);
        jw_end(&w);
        fprintf(stderr, "%s\n", sl_buf_str(&b));
    } else if (speaks_chinese()) {
        fprintf(stderr, "starlease: %s: %s\n", info->title_zh, e->msg);
    } else {
        fprintf(stderr, "starlease: %s\n", e->msg);
    }
    return info->exit;
}

int cli_run(cli_verb_fn *fn, const void *globals, const void *opts, int argc, char **argv)
{
    struct cli c = {.g = *(const struct cli_globals *)globals};
    struct sl_err err = {0};
    int status = 0;
    c.json = c.g.output && sl_streq(c.g.output, "json");
    c.talk = isatty(STDERR_FILENO);
    crypto_init();
    if (cli_config_load(&c, &err) < 0 || fn(&c, opts, argc, argv, &err) < 0)
        status = report(&c, &err);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "starlease: standard output cannot be written\n");
        status = status ? status : 1;
    }
    sl_arena_free(&c.arena);
    return status;
}

int main(int argc, char **argv)
{
    return cmd_main(&program, argc, argv);
}
