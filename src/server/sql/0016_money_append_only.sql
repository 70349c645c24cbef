-- SPDX-License-Identifier: Apache-2.0
-- 0016: invoices that have a number, what vouchers gave and what providers told are written once (dialect file: SQLite's
-- triggers).

CREATE TRIGGER invoice_numbered BEFORE UPDATE OF id, account_id, kind, year, no, number, from_us, to_us, from_seq, to_seq, currency,
  buyer, seller, tax_bp, exact_micro, net_micro, tax_micro, total_micro, original_id, created_us, issued_us ON invoice
WHEN OLD.number IS NOT NULL BEGIN SELECT RAISE(ABORT, 'an issued invoice does not change'); END;
CREATE TRIGGER invoice_no_delete BEFORE DELETE ON invoice BEGIN SELECT RAISE(ABORT, 'invoice is append-only'); END;
CREATE TRIGGER invoice_line_no_update BEFORE UPDATE ON invoice_line BEGIN SELECT RAISE(ABORT, 'invoice_line is append-only'); END;
CREATE TRIGGER invoice_line_no_delete BEFORE DELETE ON invoice_line BEGIN SELECT RAISE(ABORT, 'invoice_line is append-only'); END;
CREATE TRIGGER invoice_line_closed BEFORE INSERT ON invoice_line
WHEN (SELECT number FROM invoice WHERE id = NEW.invoice_id) IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'an issued invoice gets no further line'); END;
CREATE TRIGGER voucher_use_no_update BEFORE UPDATE ON voucher_use BEGIN SELECT RAISE(ABORT, 'voucher_use is append-only'); END;
CREATE TRIGGER voucher_use_no_delete BEFORE DELETE ON voucher_use BEGIN SELECT RAISE(ABORT, 'voucher_use is append-only'); END;
CREATE TRIGGER payment_told BEFORE UPDATE OF id, provider, event, type, reference, account, amount_micro, currency, told_us, created_us
  ON payment BEGIN SELECT RAISE(ABORT, 'what a provider told does not change'); END;
CREATE TRIGGER payment_no_delete BEFORE DELETE ON payment BEGIN SELECT RAISE(ABORT, 'payment is append-only'); END;
