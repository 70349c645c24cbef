/* SPDX-License-Identifier: Apache-2.0
 *
 * What the books on top of the ledger say must be what the ledger says.
 */
#include "server/audit_money.h"
#include <stddef.h>

#define CASH_OF(i)                                                                                 \
    "COALESCE((SELECT -SUM(e.amount_micro) FROM txn t JOIN entry e ON e.txn_id = t.id JOIN "       \
    "ledger_account a ON a.id = e.ledger_account_id AND a.account_id = t.account_id AND a.kind "   \
    "IN ('cash', 'held_cash') WHERE t.account_id = " i ".account_id AND t.account_seq BETWEEN " i  \
    ".from_seq AND " i ".to_seq AND t.kind IN ('capture', 'refund', 'disk')), 0)"

const struct audit_sql audit_papers[] = {
    {"I15", "lines of an invoice sum to its amount, tax and total",
     "SELECT i.id, 'its lines do not sum to it' FROM invoice i LEFT JOIN invoice_line l ON "
     "l.invoice_id = i.id GROUP BY i.id, i.exact_micro, i.net_micro, i.tax_micro, i.total_micro "
     "HAVING COALESCE(SUM(l.exact_micro), 0) <> i.exact_micro OR SUM(l.net_micro) <> i.net_micro "
     "OR SUM(l.tax_micro) <> i.tax_micro OR SUM(l.total_micro) <> i.total_micro"},
    {"I15", "an invoice is what its transactions took in cash, to the cent below",
     "SELECT i.id, 'it says ' || i.exact_micro || ', the ledger ' || " CASH_OF(
         "i") " FROM invoice i WHERE i.kind = 'blue' AND (i.exact_micro <> " CASH_OF("i") " OR "
                                                                                          "i.total_"
                                                                                          "micro "
                                                                                          "<> "
                                                                                          "i.exact_"
                                                                                          "micro - "
                                                                                          "i.exact_"
                                                                                          "micro % "
                                                                                          "10000)"},
    {"I13", "no transaction is on two invoices that live",
     "SELECT b.id, 'it covers transactions of ' || a.id || ' too' FROM invoice a JOIN invoice b ON "
     "b.account_id = a.account_id AND b.id > a.id AND a.from_seq <= b.to_seq AND a.to_seq >= "
     "b.from_seq WHERE a.kind = 'blue' AND b.kind = 'blue' AND a.state IN ('draft', 'issued', "
     "'reversing') AND b.state IN ('draft', 'issued', 'reversing')"},
    {"I16", "invoices of a year are numbered without a gap",
     "SELECT CAST(year AS TEXT), 'highest number ' || MAX(no) || ', invoices ' || COUNT(*) FROM "
     "invoice WHERE number IS NOT NULL GROUP BY year HAVING MAX(no) <> COUNT(*) OR MIN(no) <> 1 OR "
     "MAX(no) <> COUNT(DISTINCT no)"},
    {"I15", "a reversed invoice has its red letter, and no other has",
     "SELECT i.id, 'it is ' || i.state || ', which does not fit its number or red letter' FROM "
     "invoice i LEFT JOIN invoice r ON r.original_id = i.id WHERE (i.number IS NULL) <> (i.state "
     "IN ('draft', 'cancelled')) OR (i.kind = 'blue' AND (i.state = 'reversed') <> (r.id IS NOT "
     "NULL)) OR (r.id IS NOT NULL AND (r.total_micro <> -i.total_micro OR r.net_micro <> "
     "-i.net_micro))"},
    {"I13", "voucher credit is what its codes gave, within their uses",
     "SELECT t.id, 'a voucher without its use' FROM txn t LEFT JOIN voucher_use u ON u.txn_id = "
     "t.id WHERE t.kind = 'voucher' AND u.txn_id IS NULL UNION ALL SELECT u.txn_id, 'booked is "
     "not ' || u.amount_micro FROM voucher_use u JOIN voucher_batch b ON b.id = u.batch_id LEFT "
     "JOIN txn t ON t.id = u.txn_id AND t.kind = 'voucher' AND t.account_id = u.account_id LEFT "
     "JOIN entry e ON e.txn_id = t.id AND e.amount_micro > 0 WHERE COALESCE(e.amount_micro, 0) <> "
     "u.amount_micro OR b.value_micro <> u.amount_micro UNION ALL SELECT v.batch_id, 'uses left ' "
     "|| v.uses_left || ', used ' || (SELECT COUNT(*) FROM voucher_use u WHERE u.code_hash = "
     "v.code_hash) FROM voucher v JOIN voucher_batch b ON b.id = v.batch_id WHERE v.uses_left + "
     "(SELECT COUNT(*) FROM voucher_use u WHERE u.code_hash = v.code_hash) <> b.uses UNION ALL "
     "SELECT u.batch_id, u.account_id || ' used more codes than it may' FROM voucher_use u JOIN "
     "voucher_batch b ON b.id = u.batch_id GROUP BY u.batch_id, u.account_id, b.per_account "
     "HAVING COUNT(*) > b.per_account"},
    {"I9", "a booked payment is one top-up of its account and amount",
     "SELECT p.id, 'it is ' || p.state || ', and its top-up does not fit' FROM payment p LEFT JOIN "
     "txn t ON t.id = p.txn_id AND t.kind = 'topup' AND t.account_id = p.account_id AND t.currency "
     "= p.currency LEFT JOIN entry e ON e.txn_id = t.id AND e.amount_micro = p.amount_micro WHERE "
     "(p.state = 'booked') <> (e.txn_id IS NOT NULL) UNION ALL SELECT MAX(p.id), 'top-up ' || "
     "p.txn_id || ' is that of several payments' FROM payment p WHERE p.txn_id IS NOT NULL GROUP "
     "BY p.txn_id HAVING COUNT(*) > 1"},
    {"I10", "what is payable is what refunds wait for",
     "SELECT a.id, 'payable ' || a.balance_micro || ', refunds wait for ' || COALESCE((SELECT "
     "SUM(p.amount_micro) FROM payout p WHERE p.state = 'requested' AND p.currency = a.currency), "
     "0) FROM ledger_account a WHERE a.kind = 'payable' AND a.balance_micro <> COALESCE((SELECT "
     "SUM(p.amount_micro) FROM payout p WHERE p.state = 'requested' AND p.currency = a.currency), "
     "0) UNION ALL SELECT p.id, 'it is ' || p.state || ' and has ' || COUNT(t.id) || ' "
     "transactions' FROM payout p LEFT JOIN txn t ON t.ref = p.id AND t.account_id = p.account_id "
     "AND t.kind LIKE 'payout%' GROUP BY p.id, p.state HAVING COUNT(t.id) <> CASE p.state WHEN "
     "'requested' THEN 1 ELSE 2 END"},
    {"I14", "the guards of invoices are in place",
     "SELECT w.name, 'trigger is missing' FROM (SELECT 'invoice_numbered' AS name UNION ALL SELECT "
     "'invoice_no_delete' UNION ALL SELECT 'invoice_line_no_update' UNION ALL SELECT "
     "'invoice_line_no_delete' UNION ALL SELECT 'invoice_line_closed' UNION ALL SELECT "
     "'voucher_use_no_update' UNION ALL SELECT 'voucher_use_no_delete' UNION ALL SELECT "
     "'payment_told' UNION ALL SELECT 'payment_no_delete') w WHERE NOT EXISTS (SELECT 1 FROM "
     "sqlite_master m WHERE m.type = 'trigger' AND m.name = w.name)"},
    {0}};
