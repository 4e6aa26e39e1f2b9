/*
 * How runs went: loss, gradient norm, learning rate and validation loss against the step, several runs in the same
 * charts; what the lesson says of a healthy start; and, beside a run of the lesson, the lesson's own.
 */
#include "api/figure.h"
#include "api/figure_layers.h"
#include "api/run_log.h"
#include "base/memory.h"
#include "data/vocab.h"
#include "plot/chart.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 900, MARKS = 2, LABEL = 64, MOST_RUNS = 64 };

struct training_figure {
    struct ch_figure figure;
    struct panel panel[RUN_SIGNALS + 1];
    int runs;
    struct run_log *log;   /* (runs) */
    struct series *series; /* (RUN_SIGNALS, runs + 1): after the runs the lesson's, where it is shown */
    struct chart chart[RUN_SIGNALS];
    struct mark mark[MARKS];
    char mark_label[MARKS][LABEL];
    struct key key;
};

static void release(struct ch_figure *figure) {
    struct training_figure *f = (struct training_figure *)figure;
    for (int i = 0; f->log && i < f->runs; i++) run_log_free(&f->log[i]);
    mem_free(f->log);
    mem_free(f->series);
    mem_free(f);
}

/* ---- the lesson's figures ---- */

/* Its printed run: the loss at these steps. */
static const double lesson_step[] = {1, 200, 400, 1000, 2000, 3000};
static const double lesson_loss[] = {3.3463, 1.5749, 0.9043, 0.2748, 0.0882, 0.0412};
enum { LESSON_POINTS = sizeof lesson_step / sizeof *lesson_step };

/* Whether a run is the lesson's but for its length and its random numbers: defaults are the lesson's. */
static bool is_lesson(const ch_recipe *recipe) {
    static const char *const free_ones[] = {"steps", "seed", "rng", "attention"};
    const ch_option *option;
    for (size_t i = 0; (option = ch_recipe_option(i)); i++) {
        bool free_one = strcmp(option->group, "run") == 0;
        for (size_t k = 0; k < sizeof free_ones / sizeof *free_ones; k++)
            free_one = free_one || strcmp(option->name, free_ones[k]) == 0;
        /* as numbers: "1.0" in the table is "1" in a file */
        const char *value = ch_recipe_get(recipe, option->name), *standard = option->default_value;
        char *end;
        bool same = strcmp(value, standard) == 0 || (strtod(value, &end) == strtod(standard, NULL) && end != value);
        if (!free_one && !same) return false;
    }
    return true;
}

/* The tokens of the vocabulary if it is the same in all runs, else 0. */
static int common_vocabulary(const struct training_figure *f) {
    int size = 0;
    for (int i = 0; i < f->runs; i++) {
        if (!f->log[i].has_recipe) return 0;
        int its = (int)f->log[i].recipe.symbols + VOCAB_SPECIALS;
        if (size && its != size) return 0;
        size = its;
    }
    return size;
}

/* An untrained model spreads its guesses over V tokens: ln V, and half the variance of its first logits on top, about
 * 0.8 with Xavier's initial weights. The lesson's band around the sum goes from 0.065 below ln V to 0.935 above. */
static void set_marks(struct training_figure *f) {
    int tokens = common_vocabulary(f);
    if (tokens < 2) return;
    double uniform = log(tokens);
    f->mark[0] = (struct mark){uniform - 0.065, uniform + 0.935, f->mark_label[0]};
    f->mark[1] = (struct mark){uniform, uniform, f->mark_label[1]};
    snprintf(f->mark_label[0], LABEL, "healthy first loss: %.1f to %.1f", f->mark[0].low, f->mark[0].high);
    snprintf(f->mark_label[1], LABEL, "ln %d = %.3f: guessing", tokens, uniform);
    f->chart[RUN_LOSS].mark = f->mark;
    f->chart[RUN_LOSS].mark_count = MARKS;
}

/* ---- charts ---- */

static struct series *series_of(struct training_figure *f, enum run_signal signal) {
    return f->series + (size_t)signal * (size_t)(f->runs + 1);
}

/* A signal that only some runs have is a chart of those. */
static void fill_chart(struct training_figure *f, enum run_signal signal, const char *const *folders) {
    static const char *const names[RUN_SIGNALS] = {"loss, nats a token", "gradient norm before clipping",
                                                   "learning rate", "validation loss, nats a token"};
    static const bool logs[RUN_SIGNALS] = {true, true, false, true};
    struct series *series = series_of(f, signal);
    int count = 0;
    for (int i = 0; i < f->runs; i++) {
        const struct column *column = &f->log[i].column[signal];
        if (column->count > 0)
            series[count++] =
                (struct series){.name = folders[i], .count = column->count, .x = column->x, .y = column->y, .style = i};
    }
    f->chart[signal] = (struct chart){
        .x_axis = "step", .y_axis = names[signal], .log_y = logs[signal], .series_count = count, .series = series};
}

/* How many of the lesson's points lie within the runs, and at least the first: a short run keeps its own scale. */
static int lesson_points(const struct training_figure *f) {
    double last = 0;
    int count = 1;
    for (int i = 0; i < f->runs; i++) {
        const struct column *loss = &f->log[i].column[RUN_LOSS];
        if (loss->count > 0) last = fmax(last, loss->x[loss->count - 1]);
    }
    while (count < LESSON_POINTS && lesson_step[count] <= last) count++;
    return count;
}

static void fill_charts(struct training_figure *f, const char *const *folders) {
    bool lesson = false;
    for (int signal = 0; signal < RUN_SIGNALS; signal++) fill_chart(f, (enum run_signal)signal, folders);
    for (int i = 0; i < f->runs; i++) lesson = lesson || (f->log[i].has_recipe && is_lesson(&f->log[i].recipe));
    struct chart *loss = &f->chart[RUN_LOSS];
    if (lesson)
        series_of(f, RUN_LOSS)[loss->series_count++] = (struct series){.name = "the lesson's printed run",
                                                                       .count = lesson_points(f),
                                                                       .x = lesson_step,
                                                                       .y = lesson_loss,
                                                                       .reference = true};
    set_marks(f);
    f->key = (struct key){loss->series_count, loss->series};
}

static void fill_page(struct training_figure *f) {
    int count = 0;
    f->panel[count++] = (struct panel){&panel_key, &f->key, true};
    for (int signal = 0; signal < RUN_SIGNALS; signal++)
        if (chart_can_be_drawn(&f->chart[signal]))
            f->panel[count++] = (struct panel){&panel_chart, &f->chart[signal], false};
    if (count == 1) f->panel[count++] = (struct panel){&panel_chart, &f->chart[RUN_LOSS], false}; /* has its sentence */
    f->figure.page = (struct page){"Training", WIDTH, 2, count, f->panel};
}

static ch_status fill(struct training_figure *f, const char *const *folders, int count, ch_error *error) {
    f->log = mem_new((size_t)count, sizeof *f->log);
    f->series = mem_new((size_t)(count + 1) * RUN_SIGNALS, sizeof *f->series);
    if (!f->log || !f->series) return fail_memory(error, "a figure");
    for (int i = 0; i < count; i++) {
        f->runs = i + 1;
        ch_status status = run_log_read(folders[i], &f->log[i], error);
        if (status != CH_OK) return status;
    }
    fill_charts(f, folders);
    fill_page(f);
    return CH_OK;
}

ch_status ch_figure_training(const char *const *folders, size_t count, const ch_training_view *view, ch_figure **out,
                             ch_error *error) {
    ch_assert(folders && out);
    *out = NULL;
    if (count < 1 || count > MOST_RUNS)
        return fail(error, CH_USAGE, "cannot plot training: expected 1 to %d runs, found %zu", MOST_RUNS, count);
    if (view && view->layers) return figure_layers(folders, (int)count, out, error);
    struct training_figure *f = mem_new(1, sizeof *f);
    if (!f) return fail_memory(error, "a figure");
    f->figure.release = release;
    return figure_deliver(&f->figure, fill(f, folders, (int)count, error), out);
}
