/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/objects.h"
#include <stddef.h>

#define FIELDS(noun) static const struct wire_field noun##_fields[]
#define OBJECT(noun, name, doc) const struct wire_object wire_##noun = {name, noun##_fields, doc}

FIELDS(offer) = {{"kind", WIRE_STR, 0, NULL, "no_gpu, fewer_cards"},
                 {"detail", WIRE_STR, 0, NULL, "in words"},
                 {"rate_per_hour", WIRE_MONEY, 0, NULL, "what it costs"},
                 {"currency", WIRE_STR, 0, NULL, ""},
                 {"gpus", WIRE_INT, WIRE_NULLABLE, NULL, "cards, null: none"},
                 {"command", WIRE_STR, 0, NULL, "the command line's form of it"},
                 {0}};
OBJECT(offer, "Offer", "What can be had in place of what cannot");

FIELDS(problem) = {{"type", WIRE_STR, 0, NULL, "URI of the kind of problem"},
                   {"title", WIRE_STR, 0, NULL, "its name"},
                   {"status", WIRE_INT, 0, NULL, "HTTP status"},
                   {"code", WIRE_STR, 0, NULL, "stable code, the same as the end of type"},
                   {"detail", WIRE_STR, 0, NULL, "the sentence"},
                   {"field", WIRE_STR, WIRE_OPTIONAL, NULL, "the field that is wrong"},
                   {"offers", WIRE_LIST, WIRE_OPTIONAL, &wire_offer,
                    "no_capacity of a start: what can be had now"},
                   {"request_id", WIRE_STR, 0, NULL, "name this when you ask for help"},
                   {0}};
OBJECT(problem, "Problem", "What went wrong: one sentence with field, value and remedy (RFC 9457)");

FIELDS(health) = {{"ok", WIRE_BOOL, 0, NULL, "true"},
                  {"version", WIRE_STR, 0, NULL, "of the program"},
                  {"api_version", WIRE_STR, 0, NULL, "of this interface"},
                  {"time", WIRE_TIME, 0, NULL, "now"},
                  {0}};
OBJECT(health, "Health", "The server answers");

FIELDS(openapi) = {{"openapi", WIRE_STR, 0, NULL, "version of the format"},
                   {"info", WIRE_ANY, 0, NULL, "title, version, licence"},
                   {"paths", WIRE_ANY, 0, NULL, "the calls"},
                   {"components", WIRE_ANY, 0, NULL, "the objects"},
                   {0}};
OBJECT(openapi, "OpenApi", "An OpenAPI 3.1 document");

FIELDS(stock) = {
    {"free", WIRE_INT, 0, NULL, "free now"}, {"total", WIRE_INT, 0, NULL, "in service"}, {0}};
OBJECT(stock, "Stock", "Cards of a model");

FIELDS(price) = {{"id", WIRE_STR, 0, NULL, "price version; a quote names it"},
                 {"model", WIRE_STR, 0, NULL, "card model"},
                 {"maker", WIRE_STR, 0, NULL, "who makes it"},
                 {"memory_type", WIRE_STR, 0, NULL, "HBM3, GDDR6X ..."},
                 {"memory_gb", WIRE_INT, 0, NULL, "the maker's figure"},
                 {"memory_gb_told", WIRE_INT, 0, NULL, "the figure the price list tells"},
                 {"memory_gb_reported", WIRE_INT, WIRE_NULLABLE, NULL, "what nodes report"},
                 {"memory_flag", WIRE_STR, WIRE_NULLABLE, NULL, "why the figures differ"},
                 {"price", WIRE_MONEY, 0, NULL, "per card and hour"},
                 {"currency", WIRE_STR, 0, NULL, "ISO 4217"},
                 {"unit", WIRE_STR, 0, NULL, "gpu_hour"},
                 {"price_per_gb", WIRE_STR, 0, NULL, "price / told memory, 3 decimals"},
                 {"price_per_gb_true", WIRE_STR, 0, NULL, "price / maker's memory, 3 decimals"},
                 {"frameworks", WIRE_STR, 0, NULL, "tested frameworks"},
                 {"note", WIRE_STR, 0, NULL, "anything else"},
                 {"source", WIRE_STR, 0, NULL, "where the row comes from"},
                 {"effective", WIRE_TIME, 0, NULL, "in force since"},
                 {"stock", WIRE_OBJECT, 0, &wire_stock, "free and total cards"},
                 {"emulated", WIRE_BOOL, 0, NULL, "all cards of this model here are emulated"},
                 {0}};
OBJECT(price, "Price", "A row of the price table");

FIELDS(model) = {
    {"name", WIRE_STR, 0, NULL, "as sold"},
    {"maker", WIRE_STR, 0, NULL, "who makes it"},
    {"memory_type", WIRE_STR, 0, NULL, "HBM3 ..."},
    {"memory_bytes", WIRE_INT, 0, NULL, "of the whole card"},
    {"devices_per_card", WIRE_INT, 0, NULL, "devices that the driver shows for one card"},
    {"gfx", WIRE_STR, 0, NULL, "compiler target"},
    {"partition_modes", WIRE_STR, 0, NULL, "modes the card can be split into"},
    {0}};
OBJECT(model, "Model", "Facts of a card model");

FIELDS(quota) = {{"gpus", WIRE_INT, 0, NULL, "cards"},
                 {"leases", WIRE_INT, 0, NULL, "instances"},
                 {"disk_gb", WIRE_INT, 0, NULL, "disk in GB"},
                 {0}};
OBJECT(quota, "Quota", "What an account may hold at once");

FIELDS(account) = {{"id", WIRE_STR, 0, NULL, ""},
                   {"email", WIRE_STR, 0, NULL, ""},
                   {"role", WIRE_STR, 0, NULL, "renter or operator"},
                   {"state", WIRE_STR, 0, NULL, "unverified, active or frozen"},
                   {"state_reason", WIRE_STR, 0, NULL, "why it is frozen"},
                   {"email_verified", WIRE_BOOL, 0, NULL, "the mailed code was entered"},
                   {"currency", WIRE_STR, 0, NULL, "of the wallet"},
                   {"quota", WIRE_OBJECT, 0, &wire_quota, "what it may hold at once"},
                   {"created", WIRE_TIME, 0, NULL, ""},
                   {0}};
OBJECT(account, "Account", "A renter or an operator");

FIELDS(session) = {{"token", WIRE_STR, 0, NULL, "shown once; send it as Authorization: Bearer"},
                   {"token_id", WIRE_STR, 0, NULL, ""},
                   {"expires", WIRE_TIME, 0, NULL, ""},
                   {"account", WIRE_OBJECT, 0, &wire_account, ""},
                   {0}};
OBJECT(session, "Session", "A token and whose it is");

FIELDS(totp) = {{"enabled", WIRE_BOOL, 0, NULL, "signing in with a password wants a code"},
                {"recovery_left", WIRE_INT, 0, NULL, "recovery codes that were not used"},
                {0}};
OBJECT(totp, "Totp", "The second factor of an account");

FIELDS(totp_secret) = {{"secret", WIRE_STR, 0, NULL, "base32; shown once"},
                       {"uri", WIRE_STR, 0, NULL, "otpauth: for authenticator apps"},
                       {0}};
OBJECT(totp_secret, "TotpSecret", "What an authenticator app is given");

FIELDS(totp_on) = {{"enabled", WIRE_BOOL, 0, NULL, "true"},
                   {"recovery", WIRE_STRS, 0, NULL, "each works once; shown once"},
                   {0}};
OBJECT(totp_on, "TotpOn", "The second factor was switched on");

FIELDS(fx) = {{"base", WIRE_STR, 0, NULL, "1 of this"},
              {"quote", WIRE_STR, 0, NULL, "is so much of that"},
              {"rate", WIRE_MONEY, 0, NULL, ""},
              {"day", WIRE_STR, 0, NULL, "of the rate"},
              {0}};
OBJECT(fx, "ExchangeRate", "A dated exchange rate");

FIELDS(console) = {{"account", WIRE_OBJECT, WIRE_NULLABLE, &wire_account, "who is signed in"},
                   {"csrf", WIRE_STR, 0, NULL, "send it as X-CSRF-Token; \"\" without a cookie"},
                   {"session", WIRE_STR, 0, NULL, "id of the session's token, or \"\""},
                   {"currency", WIRE_STR, 0, NULL, "of accounts made here"},
                   {"trial", WIRE_MONEY, 0, NULL, "trial credit of a new account"},
                   {"fx", WIRE_OBJECT, WIRE_NULLABLE, &wire_fx, "to show prices by"},
                   {"version", WIRE_STR, 0, NULL, "of the program"},
                   {0}};
OBJECT(console, "Console", "What a browser begins with");

FIELDS(token) = {{"id", WIRE_STR, 0, NULL, ""},
                 {"name", WIRE_STR, 0, NULL, ""},
                 {"scopes", WIRE_STR, 0, NULL, "\"read\" or \"read,write\""},
                 {"created", WIRE_TIME, 0, NULL, ""},
                 {"expires", WIRE_TIME, 0, NULL, ""},
                 {"last_used", WIRE_TIME, WIRE_NULLABLE, NULL, ""},
                 {"revoked", WIRE_TIME, WIRE_NULLABLE, NULL, ""},
                 {"session", WIRE_BOOL, 0, NULL, "of a signed-in browser"},
                 {"token", WIRE_STR, WIRE_OPTIONAL | WIRE_NULLABLE, NULL,
                  "the secret, in the answer to POST alone"},
                 {0}};
OBJECT(token, "Token", "A token; its secret is shown once, when it is made");

FIELDS(key) = {
    {"id", WIRE_STR, 0, NULL, ""},       {"name", WIRE_STR, 0, NULL, ""},
    {"type", WIRE_STR, 0, NULL, ""},     {"fingerprint", WIRE_STR, 0, NULL, "SHA256:..."},
    {"created", WIRE_TIME, 0, NULL, ""}, {0}};
OBJECT(key, "Key", "An SSH public key");

FIELDS(accepted) = {
    {"ok", WIRE_BOOL, 0, NULL, "true"}, {"detail", WIRE_STR, 0, NULL, "what happens next"}, {0}};
OBJECT(accepted, "Accepted", "The same answer whether or not it exists");

FIELDS(trial) = {{"granted", WIRE_BOOL, 0, NULL, "by this call"},
                 {"amount", WIRE_MONEY, 0, NULL, "of credit"},
                 {0}};
OBJECT(trial, "Trial", "Trial credit");

FIELDS(identity) = {
    {"verified", WIRE_BOOL, 0, NULL, ""}, {"trial", WIRE_OBJECT, 0, &wire_trial, ""}, {0}};
OBJECT(identity, "Identity", "Result of an identity check");

FIELDS(wallet) = {{"currency", WIRE_STR, 0, NULL, ""},
                  {"cash", WIRE_MONEY, 0, NULL, "topped up, not held"},
                  {"credit", WIRE_MONEY, 0, NULL, "trial and goodwill, spent first"},
                  {"held", WIRE_MONEY, 0, NULL, "set aside for running instances"},
                  {"available", WIRE_MONEY, 0, NULL, "cash + credit"},
                  {"balance_lasts_s", WIRE_INT, WIRE_NULLABLE, NULL,
                   "at the present rate; null when nothing runs"},
                  {0}};
OBJECT(wallet, "Wallet", "Money of an account");

FIELDS(trial_grant) = {{"granted", WIRE_BOOL, 0, NULL, ""},
                       {"amount", WIRE_MONEY, 0, NULL, ""},
                       {"wallet", WIRE_OBJECT, 0, &wire_wallet, "after it"},
                       {0}};
OBJECT(trial_grant, "TrialGrant", "Result of asking for the trial credit");

FIELDS(entry) = {{"account", WIRE_STR, 0, NULL, "\"\" for the house"},
                 {"kind", WIRE_STR, 0, NULL,
                  "cash, credit, held_cash, held_credit, bank, promo, revenue, goodwill"},
                 {"amount", WIRE_MONEY, 0, NULL, ""},
                 {0}};
OBJECT(entry, "Entry", "One leg of a transaction");

FIELDS(txn) = {{"id", WIRE_STR, 0, NULL, ""},
               {"seq", WIRE_INT, 0, NULL, ""},
               {"kind", WIRE_STR, 0, NULL, ""},
               {"ref", WIRE_STR, 0, NULL, "what it is about"},
               {"memo", WIRE_STR, 0, NULL, ""},
               {"time", WIRE_TIME, 0, NULL, ""},
               {"entries", WIRE_LIST, 0, &wire_entry, ""},
               {"hash", WIRE_STR, 0, NULL, "of this account's chain"},
               {0}};
OBJECT(txn, "Transaction", "A transaction of the ledger; entries sum to zero");

FIELDS(statement) = {{"statement", WIRE_ANY, 0, NULL, "what is signed"},
                     {"key", WIRE_STR, 0, NULL, "Ed25519 public key, hex"},
                     {"signature", WIRE_STR, 0, NULL, "over the canonical bytes of \"statement\""},
                     {0}};
OBJECT(statement, "Statement", "Signed; `starlease bill verify` recomputes it offline");

FIELDS(invoice_party) = {{"name", WIRE_STR, 0, NULL, ""},
                         {"tax_id", WIRE_STR, 0, NULL, "\"\" for a person"},
                         {"address", WIRE_STR, WIRE_OPTIONAL, NULL, ""},
                         {"phone", WIRE_STR, WIRE_OPTIONAL, NULL, ""},
                         {"bank", WIRE_STR, WIRE_OPTIONAL, NULL, ""},
                         {"bank_account", WIRE_STR, WIRE_OPTIONAL, NULL, ""},
                         {0}};
OBJECT(invoice_party, "InvoiceParty", "Buyer or seller on an invoice");

FIELDS(invoice_line) = {{"item", WIRE_STR, 0, NULL, "with the short name of its tax class"},
                        {"specification", WIRE_STR, 0, NULL, "model and name"},
                        {"unit", WIRE_STR, 0, NULL, "card-hour or GB-month"},
                        {"quantity", WIRE_STR, 0, NULL, "that the amount pays for"},
                        {"unit_price", WIRE_MONEY, 0, NULL, "without tax"},
                        {"amount", WIRE_MONEY, 0, NULL, "without tax"},
                        {"tax", WIRE_MONEY, 0, NULL, ""},
                        {"total", WIRE_MONEY, 0, NULL, "amount + tax"},
                        {"ref", WIRE_STR, 0, NULL, "instance or disk"},
                        {"price_version", WIRE_STR, 0, NULL, ""},
                        {0}};
OBJECT(invoice_line, "InvoiceLine", "A line of an invoice");

FIELDS(invoice) = {
    {"id", WIRE_STR, 0, NULL, ""},
    {"number", WIRE_STR, WIRE_NULLABLE, NULL, "YEAR-NO, without a gap; null until issued"},
    {"kind", WIRE_STR, 0, NULL, "blue, or red: the reversal of one"},
    {"state", WIRE_STR, 0, NULL, "draft, issued, reversing, reversed, cancelled"},
    {"account", WIRE_STR, 0, NULL, ""},
    {"from", WIRE_TIME, WIRE_NULLABLE, NULL, "null: the account's beginning"},
    {"to", WIRE_TIME, 0, NULL, "its end, not included"},
    {"currency", WIRE_STR, 0, NULL, ""},
    {"buyer", WIRE_OBJECT, 0, &wire_invoice_party, ""},
    {"seller", WIRE_OBJECT, 0, &wire_invoice_party, ""},
    {"tax_rate", WIRE_STR, 0, NULL, "6%"},
    {"amount", WIRE_MONEY, 0, NULL, "without tax"},
    {"tax", WIRE_MONEY, 0, NULL, ""},
    {"total", WIRE_MONEY, 0, NULL, "amount + tax: what was paid, rounded down to the cent"},
    {"total_in_words", WIRE_STR, 0, NULL, "in Chinese capitals"},
    {"paid", WIRE_MONEY, 0, NULL, "in cash, to the micro-unit"},
    {"original", WIRE_STR, WIRE_NULLABLE, NULL, "of a red letter"},
    {"red_letter", WIRE_STR, WIRE_NULLABLE, NULL, "that reversed this one"},
    {"reason", WIRE_STR, 0, NULL, "of a reversal"},
    {"created", WIRE_TIME, 0, NULL, ""},
    {"issued", WIRE_TIME, WIRE_NULLABLE, NULL, ""},
    {"lines", WIRE_LIST, WIRE_OPTIONAL, &wire_invoice_line, "not in lists"},
    {0}};
OBJECT(invoice, "Invoice", "What was paid in cash in a period; lines sum to it exactly");

FIELDS(voucher) = {
    {"id", WIRE_STR, 0, NULL, ""},
    {"name", WIRE_STR, 0, NULL, ""},
    {"value", WIRE_MONEY, 0, NULL, "credit of one use"},
    {"currency", WIRE_STR, 0, NULL, ""},
    {"codes", WIRE_INT, 0, NULL, "how many"},
    {"uses", WIRE_INT, 0, NULL, "of each code"},
    {"per_account", WIRE_INT, 0, NULL, "codes that one account may use"},
    {"used", WIRE_INT, 0, NULL, "uses so far"},
    {"expires", WIRE_TIME, 0, NULL, ""},
    {"revoked", WIRE_TIME, WIRE_NULLABLE, NULL, ""},
    {"created", WIRE_TIME, 0, NULL, ""},
    {"secrets", WIRE_STRS, WIRE_OPTIONAL, NULL, "the codes, in the answer to POST alone"},
    {0}};
OBJECT(voucher, "Voucher", "A batch of codes that are worth credit");

FIELDS(redeemed) = {{"amount", WIRE_MONEY, 0, NULL, "of credit"},
                    {"transaction", WIRE_STR, 0, NULL, ""},
                    {"wallet", WIRE_OBJECT, 0, &wire_wallet, "after it"},
                    {0}};
OBJECT(redeemed, "Redeemed", "What a code gave");

FIELDS(payment) = {{"id", WIRE_STR, 0, NULL, ""},
                   {"provider", WIRE_STR, 0, NULL, ""},
                   {"event", WIRE_STR, 0, NULL, "the provider's id of the event"},
                   {"type", WIRE_STR, 0, NULL, "payment.pending, .succeeded or .failed"},
                   {"reference", WIRE_STR, 0, NULL, "the provider's number of the payment"},
                   {"account", WIRE_STR, 0, NULL, "as the provider told it"},
                   {"amount", WIRE_MONEY, 0, NULL, ""},
                   {"currency", WIRE_STR, 0, NULL, ""},
                   {"state", WIRE_STR, 0, NULL, "noted, booked, suspense or returned"},
                   {"account_id", WIRE_STR, WIRE_NULLABLE, NULL, "who has it"},
                   {"transaction", WIRE_STR, WIRE_NULLABLE, NULL, "the top-up"},
                   {"detail", WIRE_STR, 0, NULL, "why it waits, or how it was resolved"},
                   {"resolved_by", WIRE_STR, 0, NULL, "an operator, or nobody"},
                   {"created", WIRE_TIME, 0, NULL, ""},
                   {"updated", WIRE_TIME, 0, NULL, ""},
                   {0}};
OBJECT(payment, "Payment", "What a payment provider told");

FIELDS(refund) = {{"id", WIRE_STR, 0, NULL, ""},
                  {"account", WIRE_STR, 0, NULL, ""},
                  {"state", WIRE_STR, 0, NULL, "requested, paid, rejected or cancelled"},
                  {"currency", WIRE_STR, 0, NULL, ""},
                  {"reason", WIRE_STR, 0, NULL, ""},
                  {"note", WIRE_STR, 0, NULL, "the bank's number, or why not"},
                  {"amount", WIRE_MONEY, 0, NULL, "of cash"},
                  {"created", WIRE_TIME, 0, NULL, ""},
                  {"since", WIRE_TIME, 0, NULL, "in this state"},
                  {0}};
OBJECT(refund, "Refund", "Cash on its way back to a renter");

FIELDS(quote) = {{"id", WIRE_STR, 0, NULL, ""},
                 {"model", WIRE_STR, 0, NULL, ""},
                 {"gpus", WIRE_INT, 0, NULL, ""},
                 {"image", WIRE_STR, 0, NULL, ""},
                 {"disk_gb", WIRE_INT, 0, NULL, ""},
                 {"price_version", WIRE_STR, 0, NULL, ""},
                 {"price", WIRE_MONEY, 0, NULL, "per card and hour"},
                 {"currency", WIRE_STR, 0, NULL, ""},
                 {"rate_per_hour", WIRE_MONEY, 0, NULL, "for all cards"},
                 {"rate_per_day", WIRE_MONEY, 0, NULL, ""},
                 {"disk_per_hour", WIRE_MONEY, 0, NULL, ""},
                 {"hold", WIRE_MONEY, 0, NULL, "held ahead when it starts"},
                 {"horizon_s", WIRE_INT, 0, NULL, "the use that the hold covers"},
                 {"expires", WIRE_TIME, 0, NULL, ""},
                 {"available_now", WIRE_BOOL, 0, NULL, "cards are free now"},
                 {"balance_lasts_s", WIRE_INT, WIRE_NULLABLE, NULL, "with the present balance"},
                 {"fence_after_s", WIRE_INT, 0, NULL, "silence after which the lease may move"},
                 {"rules", WIRE_STRS, 0, NULL, "in words"},
                 {"emulated", WIRE_BOOL, 0, NULL, ""},
                 {0}};
OBJECT(quote, "Quote", "A binding offer");

FIELDS(lease_ssh) = {{"host", WIRE_STR, 0, NULL, ""},
                     {"port", WIRE_INT, 0, NULL, ""},
                     {"user", WIRE_STR, 0, NULL, ""},
                     {0}};
OBJECT(lease_ssh, "LeaseSsh", "How to get in");

FIELDS(lease_step) = {{"step", WIRE_STR, 0, NULL, ""},
                      {"time", WIRE_TIME, 0, NULL, ""},
                      {"seconds", WIRE_STR, 0, NULL, "since the step before"},
                      {0}};
OBJECT(lease_step, "LeaseStep", "A moment of the timeline");

FIELDS(autostop) = {
    {"ttl_s", WIRE_INT, 0, NULL, "a run lasts so long; 0: off"},
    {"budget", WIRE_MONEY, 0, NULL, "what its cards may cost, all runs together; 0: off"},
    {"idle_s", WIRE_INT, 0, NULL, "it stops after so long without use; 0: off"},
    {"delete_after_s", WIRE_INT, 0, NULL, "it is released so long after a stop; 0: off"},
    {"stops_at", WIRE_TIME, WIRE_NULLABLE, NULL, "this run's end by TTL or budget"},
    {"stops_by", WIRE_STR, WIRE_NULLABLE, NULL, "ttl or budget"},
    {"used_at", WIRE_TIME, WIRE_NULLABLE, NULL, "use was last seen"},
    {"idle_stop_at", WIRE_TIME, WIRE_NULLABLE, NULL, "it stops here unless it is used"},
    {"use", WIRE_ANY, WIRE_NULLABLE, NULL,
     "what the agent saw last: ssh, ports, cpu_permille, gpu_percent (null: not known)"},
    {"deleted_at", WIRE_TIME, WIRE_NULLABLE, NULL, "a stopped instance is released here"},
    {0}};
OBJECT(autostop, "Autostop", "Timers of an instance");

FIELDS(lease) = {{"id", WIRE_STR, 0, NULL, ""},
                 {"name", WIRE_STR, 0, NULL, ""},
                 {"state", WIRE_STR, 0, NULL, ""},
                 {"billed", WIRE_BOOL, 0, NULL, "costs money in this state"},
                 {"model", WIRE_STR, 0, NULL, ""},
                 {"gpus", WIRE_INT, 0, NULL, ""},
                 {"node", WIRE_STR, WIRE_NULLABLE, NULL, ""},
                 {"cards", WIRE_INTS, 0, NULL, "indexes on the node"},
                 {"image", WIRE_STR, 0, NULL, ""},
                 {"disk_gb", WIRE_INT, 0, NULL, ""},
                 {"ssh", WIRE_OBJECT, WIRE_NULLABLE, &wire_lease_ssh, ""},
                 {"host_key", WIRE_STR, 0, NULL, "SSH host key"},
                 {"nonce", WIRE_STR, 0, NULL, "chosen when the lease was made"},
                 {"price_version", WIRE_STR, 0, NULL, "pinned"},
                 {"rate_per_hour", WIRE_MONEY, 0, NULL, "of this run, or of the next"},
                 {"no_gpu", WIRE_BOOL, 0, NULL, "this run uses no card; gpus is what the next has"},
                 {"currency", WIRE_STR, 0, NULL, ""},
                 {"cost_so_far", WIRE_MONEY, 0, NULL, ""},
                 {"created", WIRE_TIME, 0, NULL, ""},
                 {"ready", WIRE_TIME, WIRE_NULLABLE, NULL, ""},
                 {"funded_until", WIRE_TIME, WIRE_NULLABLE, NULL, ""},
                 {"last_heartbeat", WIRE_TIME, WIRE_NULLABLE, NULL, ""},
                 {"reason", WIRE_STR, 0, NULL, "of the state"},
                 {"emulated", WIRE_BOOL, 0, NULL, ""},
                 {"epoch", WIRE_INT, 0, NULL, "counts starts"},
                 {"metric", WIRE_ANY, WIRE_NULLABLE, NULL, "the first reproducible metric"},
                 {"autostop", WIRE_OBJECT, WIRE_NULLABLE, &wire_autostop, "its timers"},
                 {"timeline", WIRE_LIST, 0, &wire_lease_step, ""},
                 {0}};
OBJECT(lease, "Lease", "An instance");

FIELDS(stop_preview) = {
    {"lease", WIRE_STR, 0, NULL, ""},
    {"state", WIRE_STR, 0, NULL, ""},
    {"model", WIRE_STR, 0, NULL, ""},
    {"gpus", WIRE_INT, 0, NULL, "cards that a start needs"},
    {"stock", WIRE_OBJECT, 0, &wire_stock, "of the model, now"},
    {"free_at_disk", WIRE_INT, 0, NULL, "of them free for you where the disk is"},
    {"could_start_again", WIRE_BOOL, 0, NULL, "as things are now"},
    {"rate_per_hour_now", WIRE_MONEY, 0, NULL, "what ends with the stop"},
    {"cards_per_hour_stopped", WIRE_MONEY, 0, NULL, ""},
    {"disk_per_hour", WIRE_MONEY, 0, NULL, "while stopped; the same as while it runs"},
    {"disk_per_day", WIRE_MONEY, 0, NULL, ""},
    {"disk_per_month", WIRE_MONEY, 0, NULL, "30 days"},
    {"restart_rate_per_hour", WIRE_MONEY, 0, NULL, "pinned for the next start"},
    {"currency", WIRE_STR, 0, NULL, ""},
    {"kept_until", WIRE_TIME, WIRE_NULLABLE, NULL, "null: until you release it"},
    {"rules", WIRE_STRS, 0, NULL, "in words"},
    {0}};
OBJECT(stop_preview, "StopPreview", "What a stop means, before it is done");

FIELDS(snapshot) = {{"id", WIRE_STR, 0, NULL, ""},
                    {"name", WIRE_STR, 0, NULL, ""},
                    {"volume", WIRE_STR, 0, NULL, "the disk that it was taken of"},
                    {"state", WIRE_STR, 0, NULL, "creating, available, failed, deleted"},
                    {"size_bytes", WIRE_INT, 0, NULL, ""},
                    {"method", WIRE_STR, WIRE_NULLABLE, NULL,
                     "reflink: shares its blocks with the disk; copy: has its own"},
                    {"node", WIRE_STR, 0, NULL, ""},
                    {"created", WIRE_TIME, 0, NULL, ""},
                    {0}};
OBJECT(snapshot, "Snapshot", "What a disk was at one time");

FIELDS(tariff) = {{"id", WIRE_STR, WIRE_NULLABLE, NULL, "null: the default, never set"},
                  {"kind", WIRE_STR, 0, NULL, "cpu or disk"},
                  {"unit", WIRE_STR, 0, NULL, "instance_hour, gb_month (30 days)"},
                  {"price", WIRE_MONEY, 0, NULL, ""},
                  {"currency", WIRE_STR, 0, NULL, ""},
                  {"note", WIRE_STR, 0, NULL, ""},
                  {"source", WIRE_STR, 0, NULL, ""},
                  {"effective", WIRE_TIME, WIRE_NULLABLE, NULL, "in force since"},
                  {0}};
OBJECT(tariff, "Tariff", "A price of what is no card");

FIELDS(logs) = {{"text", WIRE_STR, 0, NULL, ""}, {0}};
OBJECT(logs, "Logs", "The tail of the tenant's output");

FIELDS(record) = {{"id", WIRE_STR, 0, NULL, ""},
                  {"lease", WIRE_STR, 0, NULL, ""},
                  {"suite", WIRE_STR, 0, NULL, ""},
                  {"unit", WIRE_STR, 0, NULL, ""},
                  {"median", WIRE_STR, 0, NULL, "of all samples"},
                  {"low", WIRE_STR, 0, NULL, "95 % interval"},
                  {"high", WIRE_STR, 0, NULL, ""},
                  {"samples", WIRE_INT, 0, NULL, ""},
                  {"checksum", WIRE_STR, 0, NULL, "of the result; empty when repeats differ"},
                  {"emulated", WIRE_BOOL, 0, NULL, ""},
                  {"created", WIRE_TIME, 0, NULL, ""},
                  {0}};
OBJECT(record, "Record", "A benchmark record");

FIELDS(record_file) = {{"id", WIRE_STR, 0, NULL, ""},
                       {"file", WIRE_ANY, 0, NULL, "what `starlease bench verify` reads"},
                       {0}};
OBJECT(record_file, "RecordFile", "A benchmark record, signed");

FIELDS(volume) = {
    {"id", WIRE_STR, 0, NULL, ""},
    {"name", WIRE_STR, 0, NULL, ""},
    {"state", WIRE_STR, 0, NULL, ""},
    {"size_bytes", WIRE_INT, 0, NULL, ""},
    {"node", WIRE_STR, WIRE_NULLABLE, NULL, ""},
    {"lease", WIRE_STR, WIRE_NULLABLE, NULL, ""},
    {"purge_after", WIRE_TIME, WIRE_NULLABLE, NULL, ""},
    {"price_per_month", WIRE_MONEY, 0, NULL, "30 days, running or stopped; 0: free"},
    {"cost_so_far", WIRE_MONEY, 0, NULL, ""},
    {"kept_until", WIRE_TIME, WIRE_NULLABLE, NULL, "it is not paid, and deleted then"},
    {"created", WIRE_TIME, 0, NULL, ""},
    {0}};
OBJECT(volume, "Volume", "A disk");

FIELDS(image_progress) = {{"step", WIRE_STR, 0, NULL, "fetch, unpack or pack"},
                          {"bytes", WIRE_INT, 0, NULL, "done"},
                          {"total", WIRE_INT, 0, NULL, "of this step"},
                          {"files", WIRE_INT, 0, NULL, "so far"},
                          {"node", WIRE_STR, 0, NULL, "where"},
                          {0}};
OBJECT(image_progress, "ImageProgress", "How far an import or a save is");

FIELDS(image) = {
    {"id", WIRE_STR, 0, NULL, ""},
    {"name", WIRE_STR, 0, NULL, "what a quote names"},
    {"digest", WIRE_STR, 0, NULL, "of the manifest, the tar file, or the saved file"},
    {"source", WIRE_STR, 0, NULL, "file, docker:// reference, or the saved instance"},
    {"state", WIRE_STR, 0, NULL, "importing, available, failed, deleted, listed (not imported)"},
    {"size_bytes", WIRE_INT, 0, NULL, "on a node"},
    {"files", WIRE_INT, 0, NULL, ""},
    {"reason", WIRE_STR, 0, NULL, "why it failed"},
    {"account", WIRE_STR, WIRE_NULLABLE, NULL, "whose it is; null: everybody's"},
    {"rocm", WIRE_STR, 0, NULL, "ROCm version, of catalogue images"},
    {"frameworks", WIRE_STR, 0, NULL, "of catalogue images"},
    {"progress", WIRE_OBJECT, WIRE_NULLABLE, &wire_image_progress, "while it is importing"},
    {"import_with", WIRE_STR, WIRE_NULLABLE, NULL, "the command that imports a listed image"},
    {"warnings", WIRE_STRS, 0, NULL, "cards and kernels here that it does not run on"},
    {"created", WIRE_TIME, 0, NULL, ""},
    {0}};
OBJECT(image, "Image", "A root file system");

FIELDS(node) = {{"name", WIRE_STR, 0, NULL, ""},
                {"state", WIRE_STR, 0, NULL, ""},
                {"health", WIRE_STR, 0, NULL, "good, bad or unknown"},
                {"model", WIRE_STR, 0, NULL, ""},
                {"cards", WIRE_INT, 0, NULL, ""},
                {"free", WIRE_INT, 0, NULL, ""},
                {"leased", WIRE_INT, 0, NULL, ""},
                {"sanitizing", WIRE_INT, 0, NULL, ""},
                {"card_states", WIRE_STR, 0, NULL,
                 "a letter a card: F free, L leased, S being wiped, O out of service"},
                {"account", WIRE_STR, WIRE_NULLABLE, NULL, "who holds it"},
                {"addr", WIRE_STR, 0, NULL, ""},
                {"emulated", WIRE_BOOL, 0, NULL, ""},
                {"reason", WIRE_STR, 0, NULL, ""},
                {"facts", WIRE_ANY, 0, NULL, "what the probe found"},
                {0}};
OBJECT(node, "Node", "A GPU server");

FIELDS(certificate) = {{"id", WIRE_STR, 0, NULL, ""},
                       {"node", WIRE_STR, 0, NULL, ""},
                       {"lease", WIRE_STR, 0, NULL, ""},
                       {"cards", WIRE_INTS, 0, NULL, ""},
                       {"result", WIRE_STR, 0, NULL, ""},
                       {"emulated", WIRE_BOOL, 0, NULL, ""},
                       {"body", WIRE_ANY, 0, NULL, "what is signed"},
                       {"signature", WIRE_STR, 0, NULL, ""},
                       {"created", WIRE_TIME, 0, NULL, ""},
                       {0}};
OBJECT(certificate, "Certificate", "Proof that cards were wiped between tenants");

FIELDS(operation) = {{"id", WIRE_STR, 0, NULL, ""},
                     {"kind", WIRE_STR, 0, NULL, ""},
                     {"ref", WIRE_STR, 0, NULL, ""},
                     {"node", WIRE_STR, WIRE_NULLABLE, NULL, ""},
                     {"state", WIRE_STR, 0, NULL, ""},
                     {"attempts", WIRE_INT, 0, NULL, ""},
                     {"error", WIRE_STR, 0, NULL, ""},
                     {"created", WIRE_TIME, 0, NULL, ""},
                     {"since", WIRE_TIME, 0, NULL, "in this state"},
                     {0}};
OBJECT(operation, "Operation", "Work in progress");

FIELDS(event) = {{"seq", WIRE_INT, 0, NULL, ""},
                 {"id", WIRE_STR, 0, NULL, ""},
                 {"account", WIRE_STR, 0, NULL, "\"\" for the house"},
                 {"noun", WIRE_STR, 0, NULL, ""},
                 {"ref", WIRE_STR, 0, NULL, ""},
                 {"type", WIRE_STR, 0, NULL, ""},
                 {"actor", WIRE_STR, 0, NULL, ""},
                 {"data", WIRE_ANY, 0, NULL, ""},
                 {"time", WIRE_TIME, 0, NULL, ""},
                 {"hash", WIRE_STR, 0, NULL, "chained"},
                 {0}};
OBJECT(event, "Event", "A row of the audit trail");

FIELDS(public_key) = {{"public", WIRE_STR, 0, NULL, "Ed25519, hex"}, {0}};
OBJECT(public_key, "PublicKey", "The control plane's signing key");

FIELDS(report) = {{"state", WIRE_STR, 0, NULL, "of the lease"},
                  {"go", WIRE_BOOL, 0, NULL, "the tenant may start"},
                  {"stop", WIRE_BOOL, 0, NULL, "end the lease now"},
                  {"funded_until_us", WIRE_INT, 0, NULL, ""},
                  {0}};
OBJECT(report, "Report", "Answer to an agent");

FIELDS(check) = {{"id", WIRE_STR, 0, NULL, ""},
                 {"name", WIRE_STR, 0, NULL, ""},
                 {"ok", WIRE_BOOL, 0, NULL, ""},
                 {"detail", WIRE_STR, 0, NULL, ""},
                 {0}};
OBJECT(check, "Check", "One check of the audit");

FIELDS(audit) = {{"ok", WIRE_BOOL, 0, NULL, ""}, {"checks", WIRE_LIST, 0, &wire_check, ""}, {0}};
OBJECT(audit, "Audit", "Everything recomputed");

const struct wire_object *const wire_objects[] = {
    &wire_problem,      &wire_record,         &wire_record_file,
    &wire_health,       &wire_openapi,        &wire_stock,
    &wire_price,        &wire_model,          &wire_quota,
    &wire_account,      &wire_session,        &wire_fx,
    &wire_console,      &wire_totp,           &wire_totp_secret,
    &wire_totp_on,      &wire_token,          &wire_key,
    &wire_accepted,     &wire_trial,          &wire_identity,
    &wire_wallet,       &wire_trial_grant,    &wire_entry,
    &wire_txn,          &wire_statement,      &wire_quote,
    &wire_lease_ssh,    &wire_lease_step,     &wire_autostop,
    &wire_offer,        &wire_stop_preview,   &wire_tariff,
    &wire_snapshot,     &wire_lease,          &wire_logs,
    &wire_volume,       &wire_image_progress, &wire_image,
    &wire_node,         &wire_certificate,    &wire_operation,
    &wire_event,        &wire_public_key,     &wire_report,
    &wire_check,        &wire_audit,          &wire_invoice_party,
    &wire_invoice_line, &wire_invoice,        &wire_voucher,
    &wire_redeemed,     &wire_payment,        &wire_refund,
    NULL};
