/* Scales and their ticks: round numbers, told apart, within the axis; colours and dashes that are told apart. */
#include "plot/chart.h"
#include "plot/scale.h"
#include "plot/spread.h"
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The digits before the power of ten, in 1..10. */
static double mantissa(double value) {
    double power = floor(log10(fabs(value)) + 1e-9);
    return fabs(value) / pow(10, power);
}

static bool is_one_of(double value, const double *allowed, int count) {
    for (int i = 0; i < count; i++)
        if (fabs(value - allowed[i]) < 1e-6) return true;
    return false;
}

/* Rising, within the scale, no two with the same text, and each text the value it stands for. */
static void check_ticks(const struct scale *scale, const struct ticks *ticks, int most) {
    assert_true(ticks->count >= 1 && ticks->count <= most);
    for (int i = 0; i < ticks->count; i++) {
        double value = ticks->value[i], read = strtod(ticks->text[i], NULL);
        double length = scale->log ? value : scale->high - scale->low;
        assert_true(value >= scale->low - 1e-9 * length && value <= scale->high + 1e-9 * length);
        assert_true(fabs(read - value) <= 1e-2 * length);
        if (i == 0) continue;
        assert_true(value > ticks->value[i - 1]);
        assert_string_not_equal(ticks->text[i], ticks->text[i - 1]);
    }
}

static double random_share(uint64_t seed, uint64_t draw) {
    return random_int(seed, draw, 0, 1000000) / 1e6;
}

static void linear_ticks_are_round(void **state) {
    (void)state;
    static const double steps[] = {1, 2, 5, 10};
    for (uint64_t i = 0; i < 3000; i++) {
        double size = pow(10, 12 * random_share(1, i) - 6), at = (random_share(2, i) - 0.5) * 10 * size;
        struct scale scale = scale_of(at, at + size * (0.1 + random_share(3, i)), false);
        int most = random_int(4, i, 2, MOST_TICKS);
        struct ticks ticks = scale_ticks(&scale, most);
        check_ticks(&scale, &ticks, most);
        if (most >= 6) assert_true(ticks.count >= 2); /* 7 steps of 2 hold 2 of 5 */
        for (int k = 2; k < ticks.count; k++) {
            double step = ticks.value[k] - ticks.value[k - 1], first = ticks.value[1] - ticks.value[0];
            assert_true(fabs(step - first) <= 1e-6 * step);
            assert_true(is_one_of(mantissa(step), steps, 4));
        }
    }
}

static void logarithmic_ticks_are_round(void **state) {
    (void)state;
    static const double digits[] = {1, 2, 3, 5, 10};
    for (uint64_t i = 0; i < 3000; i++) {
        double low = pow(10, 16 * random_share(5, i) - 8), ratio = pow(10, 0.8 + 12 * random_share(6, i));
        struct scale scale = scale_of(low, low * ratio, true);
        int most = random_int(7, i, 2, MOST_TICKS);
        struct ticks ticks = scale_ticks(&scale, most);
        check_ticks(&scale, &ticks, most);
        bool fine = ratio < 100; /* within two decades the linear ones may serve */
        for (int k = 0; k < ticks.count; k++) assert_true(fine || is_one_of(mantissa(ticks.value[k]), digits, 5));
    }
}

static void check_texts(double low, double high, bool log, int most, const char *expected) {
    struct scale scale = scale_of(low, high, log);
    struct ticks ticks = scale_ticks(&scale, most);
    char all[512] = "";
    for (int i = 0; i < ticks.count; i++) {
        if (i) strcat(all, " ");
        strcat(all, ticks.text[i]);
    }
    assert_string_equal(all, expected);
}

static void ticks_read_well(void **state) {
    (void)state;
    check_texts(0, 1, false, 6, "0.0 0.2 0.4 0.6 0.8 1.0");
    check_texts(0, 1, false, 5, "0.0 0.5 1.0");
    check_texts(-1, 1, false, 5, "-1.0 -0.5 0.0 0.5 1.0");
    check_texts(0, 3000, false, 7, "0 500 1000 1500 2000 2500 3000");
    check_texts(1, 3000, false, 4, "1000 2000 3000");
    check_texts(0.0000025, 0.001, false, 6, "0.0002 0.0004 0.0006 0.0008 0.0010");
    check_texts(0.02, 5, true, 8, "0.02 0.05 0.1 0.2 0.5 1 2 5");
    check_texts(0.02, 5, true, 6, "0.03 0.1 0.3 1 3");
    check_texts(0.02, 5, true, 3, "0.1 1");
    check_texts(1e-9, 1e9, true, 4, "1e-5 1e0 1e5");
    check_texts(1e-4, 0.1, true, 6, "1e-4 1e-3 1e-2 1e-1");
    check_texts(0.001, 50000, true, 6, "0.01 1 100 10000");
    check_texts(100, 500000, true, 6, "1e2 1e3 1e4 1e5");
    check_texts(2e10, 8e10, false, 4, "2e10 4e10 6e10 8e10");
    check_texts(0, 2e-5, false, 6, "0 5.0e-6 1.0e-5 1.5e-5 2.0e-5");
    check_texts(-2e-5, 2e-4, false, 6, "0.00000 0.00005 0.00010 0.00015 0.00020");
}

static bool has_power(const char *text) {
    return strchr(text, 'e') != NULL;
}

/* Along one axis a number is plain, or has a power of ten, as its neighbours; only 0 is both. */
static void ticks_are_alike(void **state) {
    (void)state;
    for (uint64_t i = 0; i < 4000; i++) {
        bool log = i % 2;
        double low = pow(10, 24 * random_share(8, i) - 12), ratio = pow(10, 10 * random_share(9, i));
        struct scale scale = scale_of(log ? low : -low, low * ratio, log);
        struct ticks ticks = scale_ticks(&scale, random_int(10, i, 2, MOST_TICKS));
        for (int k = 0; k < ticks.count; k++)
            for (int j = 0; j < k; j++)
                if (ticks.value[k] != 0 && ticks.value[j] != 0 && has_power(ticks.text[k]) != has_power(ticks.text[j]))
                    fail_msg("%s beside %s", ticks.text[j], ticks.text[k]);
    }
}

static void check_ends(double low, double high, const char *expected_low, const char *expected_high) {
    char a[NUMBER_BYTES], b[NUMBER_BYTES];
    scale_ends(&(struct scale){low, high, false}, a, b);
    assert_string_equal(a, expected_low);
    assert_string_equal(b, expected_high);
}

static void ends_are_alike(void **state) {
    (void)state;
    check_ends(0, 1, "0", "1");
    check_ends(-1, 1.5, "-1", "1.5");
    check_ends(0.002, 20, "0.002", "20");
    check_ends(1e-5, 0.05, "1e-5", "5e-2");
    check_ends(0, 5e-5, "0", "5e-5");
    check_ends(-1.2345e-300, 1, "-1.23e-300", "1.00e0");
    check_ends(-1500, 150000, "-1.5e3", "1.5e5");
}

/* ---- columns of numbers ---- */

static void check_column(const double *value, int count, const char *expected) {
    struct spread row[8];
    struct spread_notation mean, deviation;
    char all[128] = "", number[NUMBER_BYTES];
    for (int i = 0; i < count; i++) row[i] = (struct spread){.mean = -value[i], .deviation = value[i]};
    spreads_notations(&(struct spreads){.count = count, .row = row}, &mean, &deviation);
    for (int i = 0; i < count; i++) {
        spread_number(row[i].mean, mean, number);
        assert_true(strlen(number) <= 8);
        spread_number(row[i].deviation, deviation, number);
        strcat(strcat(all, i ? " " : ""), number);
    }
    assert_string_equal(all, expected);
}

/* A column has one notation and, where it is plain, as many decimals in every row. */
static void columns_are_alike(void **state) {
    (void)state;
    check_column((double[]){0.3090, 0.0017, 0}, 3, "0.3090 0.0017 0");
    check_column((double[]){1, 0.9954, 0.0001}, 3, "1.0000 0.9954 0.0001");
    check_column((double[]){0.05, 5e-5, 0}, 3, "5.0e-2 5.0e-5 0");
    check_column((double[]){12.5, 0.25}, 2, "12.500 0.250");
    check_column((double[]){1234.5, 0.05}, 2, "1.2e3 5.0e-2");
    check_column((double[]){1234.5, 99}, 2, "1234.5 99.0");
    check_column((double[]){123456, 99}, 2, "1.2e5 9.9e1");
    check_column((double[]){0, 0}, 2, "0 0");
}

static void places(void **state) {
    (void)state;
    struct scale linear = {-2, 6, false}, log = {0.01, 100, true};
    assert_true(scale_place(&linear, -2) == 0 && scale_place(&linear, 6) == 1 && scale_place(&linear, 0) == 0.25);
    assert_true(scale_place(&linear, 14) == 2);
    assert_true(scale_place(&log, 0.01) == 0 && fabs(scale_place(&log, 100) - 1) < 1e-15);
    assert_true(fabs(scale_place(&log, 1) - 0.5) < 1e-15 && fabs(scale_place(&log, 10) - 0.75) < 1e-15);
    assert_true(isnan(scale_place(&log, 0)) && isnan(scale_place(&log, -1)));
    assert_true(isnan(scale_place(&linear, (double)NAN)) && isnan(scale_place(&log, (double)NAN)));
}

/* Whatever comes, a scale has a length, holds what it was made of, and has ticks. */
static void odd_ranges(void **state) {
    (void)state;
    static const double odd[] = {0,     1,      -1,    1e-320, -1e-320, 1e300,  -1e300,      1e299,           -1e299,
                                 1e-12, 3.1415, 1e-30, 12345,  0.999,   1.0001, (double)NAN, (double)INFINITY};
    enum { ODD = sizeof odd / sizeof *odd };
    for (int i = 0; i < ODD * ODD * 2; i++) {
        double a = odd[i / 2 / ODD], b = odd[i / 2 % ODD];
        struct scale scale = scale_of(a, b, i % 2), rounded = scale_rounded(scale);
        assert_true(scale.low < scale.high && isfinite(scale.low) && isfinite(scale.high));
        assert_true(!scale.log || scale.low > 0);
        double slack = 1e-9 * (scale.high / 2 - scale.low / 2);
        bool held = isfinite(a) && isfinite(b) && (!scale.log || fmin(a, b) > 1e-300);
        assert_true(!held || (scale.low <= fmin(a, b) && scale.high >= fmax(a, b)));
        assert_true(rounded.low <= scale.low + slack && rounded.high >= scale.high - slack);
        for (int most = 2; most <= MOST_TICKS; most++) assert_true(scale_ticks(&scale, most).count <= most);
    }
}

static void check_rounded(double low, double high, bool log, double expected_low, double expected_high) {
    struct scale scale = scale_rounded(scale_of(low, high, log));
    assert_true(fabs(scale.low - expected_low) <= 1e-9 && fabs(scale.high - expected_high) <= 1e-9);
}

static void rounding(void **state) {
    (void)state;
    check_rounded(0.13, 4.9, false, 0, 5);
    check_rounded(-1, 1, false, -1, 1);
    check_rounded(0.031, 3.4, true, 0.02, 5);
    check_rounded(0.01, 100, true, 0.01, 100);
    check_rounded(7, 11, true, 5, 20);
}

/* One value, or values as good as one, get a range of their own size with at least two ticks that differ. */
static void one_value_has_a_range(void **state) {
    (void)state;
    static const double value[] = {1e-299, 1e-12, 4.4e-6, 0.001, 1, 2.5, 3000, 1e12, 1e299, -1e-12, -7};
    for (size_t i = 0; i < 2 * sizeof value / sizeof *value; i++) {
        double at = value[i / 2], size = fabs(at);
        struct scale scale = scale_of(at, i % 2 ? at * (1 + 1e-7) : at, false);
        assert_true(fabs(scale.low / size - (at / size - 0.5)) < 1e-6);
        assert_true(fabs(scale.high / size - (at / size + 0.5)) < 1e-6);
        struct ticks ticks = scale_ticks(&scale, 4);
        assert_true(ticks.count >= 2);
        for (int t = 1; t < ticks.count; t++) assert_string_not_equal(ticks.text[t], ticks.text[t - 1]);
    }
    check_rounded(0, 0, false, -0.6, 0.6); /* in steps of 0.2 */
}

/* Steps are whole: a short run's axis has no half ones. */
static void whole_numbers_have_no_ticks_between(void **state) {
    (void)state;
    static const double x[] = {1, 2, 3}, y[] = {1, 1, 1}, between[] = {1, 2.5, 3};
    struct series series = {.name = "s", .count = 3, .x = x, .y = y};
    struct chart chart = {.series_count = 1, .series = &series};
    struct scale across, up;
    chart_scales(&chart, &across, &up);
    struct ticks ticks = chart_x_ticks(&chart, &across, 8);
    assert_int_equal(ticks.count, 3);
    assert_string_equal(ticks.text[1], "2");
    series.x = between;
    assert_int_equal(chart_x_ticks(&chart, &across, 8).count, 5);
}

/* ---- lines ---- */

static double contrast(struct colour a, struct colour b) {
    double x = colour_luminance(a) + 0.05, y = colour_luminance(b) + 0.05;
    return x > y ? x / y : y / x;
}

static void lines_are_seen_on_white(void **state) {
    (void)state;
    for (int i = 0; i < COLOUR_LINES; i++) assert_true(contrast(colour_line(i), (struct colour){255, 255, 255}) >= 3);
}

/* A pen as text: its colour, unless the print is grey, and its dashes. */
static void pen(int style, bool coloured, char out[128]) {
    cairo_t *cr = canvas_new_for_measuring(1);
    struct series series = {.style = style};
    double dash[8];
    series_pen(cr, &series);
    int count = cairo_get_dash_count(cr);
    cairo_get_dash(cr, dash, NULL);
    int used = snprintf(out, 128, "%d", coloured ? style % COLOUR_LINES : 0);
    for (int i = 0; i < count; i++) used += snprintf(out + used, 128 - (size_t)used, " %g", dash[i]);
    cairo_destroy(cr);
}

/* The first five are told apart by their dashes alone, the first thirty with their colours. */
static void pens_differ(void **state) {
    (void)state;
    for (int i = 0; i < 30; i++)
        for (int k = 0; k < i; k++) {
            char a[128], b[128];
            pen(i, true, a), pen(k, true, b);
            assert_string_not_equal(a, b);
            pen(i, false, a), pen(k, false, b);
            if (i < 5) assert_string_not_equal(a, b);
        }
}

/* Lightest in the middle, darker to both ends without a step back, and the ends differ in grey, too. */
static void the_diverging_map_diverges(void **state) {
    (void)state;
    for (int i = 1; i <= 16; i++) {
        double low = colour_luminance(colour_of(COLOUR_DIVERGING, 0.5 - i / 32.0));
        double high = colour_luminance(colour_of(COLOUR_DIVERGING, 0.5 + i / 32.0));
        assert_true(low < colour_luminance(colour_of(COLOUR_DIVERGING, 0.5 - (i - 1) / 32.0)));
        assert_true(high < colour_luminance(colour_of(COLOUR_DIVERGING, 0.5 + (i - 1) / 32.0)));
        assert_true(high > low);
    }
    assert_true(contrast(colour_of(COLOUR_DIVERGING, 0), colour_of(COLOUR_DIVERGING, 1)) > 2);
    struct colour blue = colour_of(COLOUR_DIVERGING, 0), orange = colour_of(COLOUR_DIVERGING, 1);
    assert_true(blue.blue > blue.red + 50 && orange.red > orange.blue + 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear_ticks_are_round),
        cmocka_unit_test(logarithmic_ticks_are_round),
        cmocka_unit_test(ticks_read_well),
        cmocka_unit_test(ticks_are_alike),
        cmocka_unit_test(ends_are_alike),
        cmocka_unit_test(columns_are_alike),
        cmocka_unit_test(places),
        cmocka_unit_test(odd_ranges),
        cmocka_unit_test(rounding),
        cmocka_unit_test(one_value_has_a_range),
        cmocka_unit_test(whole_numbers_have_no_ticks_between),
        cmocka_unit_test(lines_are_seen_on_white),
        cmocka_unit_test(pens_differ),
        cmocka_unit_test(the_diverging_map_diverges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
