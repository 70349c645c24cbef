/* SPDX-License-Identifier: Apache-2.0 */
#include "port/source.h"
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdlib.h>

/* The tokens of `text` as words: kind letter, then the text; '|' between. */
static char *shape(const char *text, size_t n)
{
    static const char letters[] = "EinsrcpChHe"; /* in the order of enum lex_kind */
    struct sl_buf b = SL_BUF(1 << 20);
    struct lex l = {0};
    lex_run(&l, text, n);
    for (size_t i = 0; i < l.n; i++) {
        sl_buf_printf(&b, "%s%c:", i ? "|" : "", letters[l.v[i].kind]);
        sl_buf_add(&b, lex_text(&l, i), l.v[i].n);
    }
    lex_free(&l);
    return b.p ? b.p : sl_strdup("");
}

static void tokens_are_what_a_compiler_sees(void **state)
{
    static const struct {
        const char *text, *shape;
    } rows[] = {
        {"", ""},
        {"a+b", "i:a|p:+|i:b"},
        {"x = 1.5e+3f;", "i:x|p:=|n:1.5e+3f|p:;"},
        {"1'000'000u 0x1p-3", "n:1'000'000u|n:0x1p-3"},
        {"a/*b*/c//d\ne", "i:a|C:/*b*/|i:c|C://d|i:e"},
        {"// one \\\n still one\nx", "C:// one \\\n still one|i:x"},
        {"\"a\\\"b\" L'c' u8R\"x(\")\" )x\"", "s:\"a\\\"b\"|c:L'c'|r:u8R\"x(\")\" )x\""},
        {"k<<<1, 2>>>(a)", "i:k|p:<<<|n:1|p:,|n:2|p:>|p:>|p:>|p:(|i:a|p:)"},
        {"a<<b>>c<<=d", "i:a|p:<<|i:b|p:>|p:>|i:c|p:<<=|i:d"},
        {"p->q::r...s##t", "i:p|p:->|i:q|p:::|i:r|p:...|i:s|p:##|i:t"},
        {"#include <a/b.h> // c\nx", "h:#|i:include|H:<a/b.h>|C:// c|e:|i:x"},
        {"#  include \"a.h\"", "h:#|i:include|H:\"a.h\"|e:"},
        {"#define A(x) x \\\n + 1\ny", "h:#|i:define|i:A|p:(|i:x|p:)|i:x|p:+|n:1|e:|i:y"},
        {"/* c */ #define B", "C:/* c */|h:#|i:define|i:B|e:"},
        {"a # b", "i:a|p:#|i:b"},
        {"\"open\nx", "s:\"open|i:x"},
        {"a\r\nb", "i:a|i:b"},
    };
    for (size_t i = 0; i < SL_COUNT(rows); i++) {
        SL_AUTO_FREE char *got = shape(rows[i].text, strlen(rows[i].text));
        assert_string_equal(got, rows[i].shape);
    }
}

static void any_bytes_are_tokens_without_a_gap_that_is_no_space(void **state)
{
    unsigned seed = 1;
    char text[300];
    for (int round = 0; round < 2000; round++) {
        static const char alphabet[] = "ab1 \n\t\"'/*\\<>#(){}.,:-+R_\r\x80\x00";
        size_t n = (size_t)(seed % sizeof text), at = 0;
        for (size_t i = 0; i < n; i++) {
            seed = seed * 1103515245u + 12345;
            text[i] = alphabet[seed / 65536 % (sizeof alphabet - 1)];
        }
        seed = seed * 1103515245u + 12345;
        char *exact =
            sl_realloc(NULL, n ? n : 1); /* so that a sanitizer sees a read past the end */
        memcpy(exact, text, n);
        struct lex l = {0};
        lex_run(&l, exact, n);
        for (size_t i = 0; i < l.n; i++) {
            assert_true(l.v[i].at >= at && l.v[i].at + l.v[i].n <= n);
            for (; at < l.v[i].at; at++)
                assert_non_null(memchr(" \t\r\n\\", exact[at], 5));
            at = l.v[i].at + l.v[i].n;
        }
        assert_int_equal(l.v[l.n].kind, LEX_END);
        lex_free(&l);
        free(exact);
    }
}

static size_t find(const struct lex *l, const char *text)
{
    size_t i = 0;
    while (i < l->n && !lex_is(l, i, text))
        i++;
    assert_true(i < l->n);
    return i;
}

static void brackets_pair_inside_their_directive(void **state)
{
    static const char text[] = "f(a[1], (b))\n#define X (\ng({x;})";
    struct lex l = {0};
    lex_run(&l, text, strlen(text));
    size_t open = find(&l, "(");
    assert_int_equal(l.v[lex_close(&l, open)].at, 11);
    assert_int_equal(lex_open(&l, lex_close(&l, open)), open);
    assert_true(lex_close(&l, find(&l, "X") + 1) == SIZE_MAX);
    assert_int_equal(lex_close(&l, find(&l, "g") + 1), l.n - 1);
    lex_free(&l);
}

static void template_brackets_are_told_from_comparisons(void **state)
{
    static const struct {
        const char *text;
        bool pairs;
    } rows[] = {{"k<float, 3>(x)", true},
                {"a < b && c > d", false},
                {"k<f(a, b), c<d>>(x)", true},
                {"for (i = 0; i < n; i++) x > y", false},
                {"k<(a > b)>(x)", true}};
    for (size_t i = 0; i < SL_COUNT(rows); i++) {
        struct lex l = {0};
        lex_run(&l, rows[i].text, strlen(rows[i].text));
        size_t open = find(&l, "<"), close = lex_angle_close(&l, open);
        assert_int_equal(close != SIZE_MAX, rows[i].pairs);
        if (rows[i].pairs)
            assert_int_equal(lex_angle_open(&l, close), open);
        lex_free(&l);
    }
}

static void unclosed_things_are_flagged(void **state)
{
    static const char *const rows[] = {"/* a", "\"a", "R\"(a", "'a"};
    for (size_t i = 0; i < SL_COUNT(rows); i++) {
        struct lex l = {0};
        lex_run(&l, rows[i], strlen(rows[i]));
        assert_true(l.v[0].flags & LEX_F_OPEN);
        lex_free(&l);
    }
}

static void output_places_map_back_to_the_input(void **state)
{
    struct source s;
    struct sl_buf b = SL_BUF(1000);
    source_from(&s, "-", "one\ntwo\nthree\n", 14);
    source_edit(&s, 4, 3, "zwei", 4, EDIT_NAME);
    source_edit(&s, 0, 0, "null\n", 5, EDIT_INCLUDE);
    source_edit(&s, 4, 3, "dos", 3, EDIT_FIX); /* overlaps: the first stays */
    assert_int_equal(source_settle(&s), 1);
    source_render(&s, &b);
    assert_string_equal(sl_buf_str(&b), "null\none\nzwei\nthree\n");
    assert_int_equal(source_back(&s, 0), 0);
    assert_int_equal(source_back(&s, 5), 0);
    assert_int_equal(source_back(&s, 11), 4);
    assert_int_equal(source_back(&s, 14), 8);
    assert_int_equal(source_back_line(&s, 2), 1);
    assert_int_equal(source_back_line(&s, 4), 3);
    unsigned line, col;
    source_where(&s, 9, &line, &col);
    assert_int_equal(line, 3);
    assert_int_equal(col, 2);
    assert_true(sl_str_eq(source_line(&s, 2), SL_STR("two")));
    sl_buf_free(&b);
    source_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_are_what_a_compiler_sees),
        cmocka_unit_test(any_bytes_are_tokens_without_a_gap_that_is_no_space),
        cmocka_unit_test(brackets_pair_inside_their_directive),
        cmocka_unit_test(template_brackets_are_told_from_comparisons),
        cmocka_unit_test(unclosed_things_are_flagged),
        cmocka_unit_test(output_places_map_back_to_the_input),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
