/* SPDX-License-Identifier: Apache-2.0 */
#include "server/totp.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void hmac_of_the_standard(void **state)
{
    /* RFC 2202, cases 1, 2 and 6 */
    static const struct {
        const char *key, *text, *want;
    } v[] = {{"\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b",
              "Hi There", "b617318655057264e28bc0b6fb378c8ef146be00"},
             {"Jefe", "what do ya want for nothing?", "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"}};
    uint8_t mac[20];
    char hex[41], key[80];
    (void)state;
    for (size_t i = 0; i < SL_COUNT(v); i++) {
        sha1_hmac(v[i].key, strlen(v[i].key), v[i].text, strlen(v[i].text), mac);
        hex_encode(mac, 20, hex);
        assert_string_equal(hex, v[i].want);
    }
    const char *text = "Test Using Larger Than Block-Size Key - Hash Key First";
    memset(key, 0xaa, sizeof key);
    sha1_hmac(key, sizeof key, text, strlen(text), mac);
    hex_encode(mac, 20, hex);
    assert_string_equal(hex, "aa4ae5e15272d00e95705637ce8a3b55ed402112");
}

static void codes_of_the_standard(void **state)
{
    /* RFC 6238, appendix B, the last six of the eight digits */
    static const struct {
        int64_t t;
        int32_t code;
    } v[] = {{59, 287082},       {1111111109, 81804},  {1111111111, 50471},
             {1234567890, 5924}, {2000000000, 279037}, {20000000000, 353130}};
    (void)state;
    for (size_t i = 0; i < SL_COUNT(v); i++)
        assert_int_equal(totp_code((const uint8_t *)"12345678901234567890", v[i].t / TOTP_STEP_S),
                         v[i].code);
}

static void a_secret_as_apps_read_it(void **state)
{
    char text[TOTP_BASE32];
    (void)state;
    base32_encode((const uint8_t *)"12345678901234567890", text);
    assert_string_equal(text, "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(hmac_of_the_standard),
                                       cmocka_unit_test(codes_of_the_standard),
                                       cmocka_unit_test(a_secret_as_apps_read_it)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
