/* SPDX-License-Identifier: Apache-2.0
 *
 * A statement file is written by somebody else. Besides the file as it is, its "statement" is signed anew,
 * so that inputs reach what lies behind the signature.
 */
#include "wire/bill.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void verify(const char *text, size_t n)
{
    struct bill_result r;
    struct sl_err err = {0};
    SL_AUTO_BUF struct sl_buf csv = SL_BUF(1 << 20);
    const struct bill_options alone = {0}, again = {.earlier = text, .earlier_n = n};
    if (bill_verify(text, n, &alone, &r, &err) == 0) {
        SL_ASSERT(bill_verify(text, n, &again, &r, &err) == 0); /* it agrees with itself */
        SL_ASSERT(r.earlier_txns == r.txns && r.earlier_lines == r.lines);
    }
    (void)bill_csv(text, n, &csv, &err);
    sl_buf_clear(&csv);
    (void)bill_focus(text, n, "p", &csv, &err);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    static char public[SIGN_KEY_HEX], secret[SIGN_HEX];
    struct sl_err err = {0};
    if (!*public) {
        crypto_init();
        sign_keypair(public, secret);
    }
    verify((const char *)data, size);
    JR_AUTO_DOC struct jr_doc *doc = NULL;
    if (jr_open((const char *)data, size, &doc, &err) < 0)
        return 0;
    SL_AUTO_BUF struct sl_buf body = SL_BUF(1 << 20), file = SL_BUF(1 << 21);
    const struct jr_val *v = jr_get(jr_root(doc), "statement");
    if (!v || jr_canonical(v, &body, &err) < 0)
        return 0;
    char signature[SIGN_HEX];
    sign_make(secret, body.p, body.n, signature);
    sl_buf_printf(&file, "{\"statement\":%s,\"key\":\"%s\",\"signature\":\"%s\"}", body.p, public, signature);
    verify(file.p, file.n);
    return 0;
}
