#include "plot/scale.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double slack = 1e-9;    /* of a step: a tick at the very end of a scale may miss it by rounding */
static const double largest = 1e300; /* so that no sum or ratio of ends overflows */

struct scale scale_of(double low, double high, bool log) {
    double least = fmin(fmax(fmin(low, high), log ? 1 / largest : -largest), largest);
    double most = fmin(fmax(fmax(low, high), least), largest);
    if (!isfinite(low) || !isfinite(high) || (log && fmin(low, high) <= 0))
        return (struct scale){log ? 0.1 : 0, 1, log};
    if (log && most / least < 1.1) return (struct scale){least / 2, most * 2, log};
    double size = fmax(fabs(least), fabs(most));
    if (!log && most - least <= fmax(1e-6 * size, 1 / largest)) { /* as good as one value: half of it to either side */
        double room = size > 1 / largest ? size / 2 : 0.5;
        return (struct scale){least - room, most + room, log};
    }
    return (struct scale){least, most, log};
}

double scale_place(const struct scale *scale, double value) {
    /* Halves, because high - low can be more than a double holds. */
    if (!scale->log) return (value / 2 - scale->low / 2) / (scale->high / 2 - scale->low / 2);
    double whole = log(scale->high) - log(scale->low);
    return value > 0 ? (log(value) - log(scale->low)) / whole : (double)NAN;
}

/* ---- steps of a linear scale ---- */

/* The smallest of 1, 2, 5 x 10^n that is at least `least`. */
static double round_step(double least) {
    double unit = pow(10, floor(log10(least)));
    static const double factor[] = {1, 2, 5};
    for (int i = 0; i < 3; i++)
        if (unit * factor[i] >= least * (1 - slack)) return unit * factor[i];
    return unit * 10;
}

/* The finest step at which at most `most` ticks lie on the scale; one lies there always, since the step before had
 * more than two. */
static double linear_step(const struct scale *scale, int most) {
    double step = round_step((scale->high - scale->low) / (most + 1));
    while (floor(scale->high / step + slack) - ceil(scale->low / step - slack) + 1 > most)
        step = round_step(step * 1.5);
    return step;
}

/* Digits behind the point that tell the multiples of a step apart. */
static int decimals(double step) {
    double digits = -floor(log10(step) + slack);
    return digits > 0 ? (int)digits : 0;
}

void scale_power(double value, int decimals, char out[NUMBER_BYTES]) {
    char text[NUMBER_BYTES];
    snprintf(text, sizeof text, "%.*e", decimals, value);
    char *power = strchr(text, 'e');
    if (value == 0 || !power) {
        snprintf(out, NUMBER_BYTES, value == 0 ? "0" : "?");
        return;
    }
    *power = '\0';
    snprintf(out, NUMBER_BYTES, "%.18se%d", text, atoi(power + 1));
}

/* Plain decimals where they are short, else all with a power of ten, and as many digits as the step needs. */
static void linear_text(double value, double step, double most, char out[NUMBER_BYTES]) {
    if (most < 1e7 && step >= 1e-5) {
        snprintf(out, NUMBER_BYTES, "%.*f", decimals(step), value);
        return;
    }
    double digits = floor(log10(most) + slack) - floor(log10(step) + slack);
    scale_power(value, (int)fmin(digits, 14), out);
}

static struct ticks linear_ticks(const struct scale *scale, int most) {
    struct ticks ticks = {0};
    double step = linear_step(scale, most), first = ceil(scale->low / step - slack);
    double widest = fmax(fabs(scale->low), fabs(scale->high));
    for (int i = 0; i < most; i++) {
        double value = (first + i) * step;
        if (value > scale->high + slack * step) break;
        if (fabs(value) < slack * step) value = 0; /* no "-0" */
        ticks.value[ticks.count] = fmin(fmax(value, scale->low), scale->high);
        linear_text(value, step, widest, ticks.text[ticks.count++]);
    }
    return ticks;
}

/* ---- steps of a logarithmic scale ---- */

/* In one notation for all. */
static void log_texts(struct ticks *ticks) {
    bool plain = ticks->count > 0 && ticks->value[0] >= 1e-3 * (1 - slack) && ticks->value[ticks->count - 1] < 1e5;
    for (int i = 0; i < ticks->count; i++) {
        if (plain)
            snprintf(ticks->text[i], NUMBER_BYTES, "%.*f", decimals(ticks->value[i]), ticks->value[i]);
        else
            scale_power(ticks->value[i], 0, ticks->text[i]);
    }
}

/* Adds factor x 10^n for each factor and every `stride`-th power; false if there is no room for all. */
static bool log_fill(const struct scale *scale, const double *factor, int factors, int stride, int most,
                     struct ticks *ticks) {
    int first = (int)floor(log10(scale->low) - slack), last = (int)ceil(log10(scale->high) + slack);
    ticks->count = 0;
    for (int power = first; power <= last; power++) {
        if (power % stride != 0) continue;
        for (int f = 0; f < factors; f++) {
            double value = power < 0 ? factor[f] / pow(10, -power) : factor[f] * pow(10, power);
            if (value < scale->low * (1 - slack) || value > scale->high * (1 + slack)) continue;
            if (ticks->count == most) return false;
            ticks->value[ticks->count++] = value;
        }
    }
    log_texts(ticks);
    return true;
}

static struct ticks log_ticks(const struct scale *scale, int most) {
    static const double fine[] = {1, 2, 5}, coarse[] = {1, 3}, one[] = {1};
    struct ticks ticks = {0};
    if (log_fill(scale, fine, 3, 1, most, &ticks)) {
        /* Less than a factor of two or so: the round numbers of a linear scale are finer. */
        if (ticks.count >= 2) return ticks;
        struct scale linear = {scale->low, scale->high, false};
        return linear_ticks(&linear, most);
    }
    if (log_fill(scale, coarse, 2, 1, most, &ticks)) return ticks;
    for (int stride = 1; !log_fill(scale, one, 1, stride, most, &ticks);) stride++;
    return ticks;
}

struct ticks scale_ticks(const struct scale *scale, int most) {
    int room = most < 2 ? 2 : most > MOST_TICKS ? MOST_TICKS : most;
    return scale->log ? log_ticks(scale, room) : linear_ticks(scale, room);
}

struct scale scale_rounded(struct scale scale) {
    if (scale.log) {
        /* 1, 2 or 5 times a power of ten below and above */
        double low = pow(10, floor(log10(scale.low) + slack));
        double lower = scale.low >= 5 * low * (1 - slack) ? 5 : scale.low >= 2 * low * (1 - slack) ? 2 : 1;
        return (struct scale){low * lower, round_step(scale.high), true};
    }
    double step = linear_step(&scale, 6);
    double low = floor(scale.low / step + slack) * step, high = ceil(scale.high / step - slack) * step;
    return (struct scale){low, high, false};
}

/* Whether the digits before the power of ten are whole, taken `unit` times. */
static bool is_whole(double value, double unit) {
    if (value == 0) return true;
    double digits = fabs(value) / pow(10, floor(log10(fabs(value)) + slack)) * unit;
    return fabs(digits - round(digits)) < 1e-6;
}

void scale_ends(const struct scale *scale, char low[NUMBER_BYTES], char high[NUMBER_BYTES]) {
    double most = fmax(fabs(scale->low), fabs(scale->high)), least = fmin(fabs(scale->low), fabs(scale->high));
    if (most < 1e5 && (least == 0 ? most : least) >= 1e-3 * (1 - slack)) {
        snprintf(low, NUMBER_BYTES, "%.5g", scale->low);
        snprintf(high, NUMBER_BYTES, "%.5g", scale->high);
        return;
    }
    int digits = 0; /* as few as both need, and two at most */
    for (double unit = 1; digits < 2; digits++, unit *= 10)
        if (is_whole(scale->low, unit) && is_whole(scale->high, unit)) break;
    scale_power(scale->low, digits, low);
    scale_power(scale->high, digits, high);
}
